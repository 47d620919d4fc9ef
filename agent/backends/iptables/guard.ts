import type { Family } from "../../../api/address.ts";
import { GUARD } from "./chain-name.ts";
import type { Chain } from "./render.ts";
import { comment } from "./rule.ts";

/**
 * What is still addressed to a ClusterSetIP after DNAT: a VIP without endpoints, a port that nobody exposes,
 * a VIP that no import has. A new connection is refused at once, and before conntrack confirms it, so that
 * the same source port connects once there is an endpoint. Anything else is dropped: a reset in answer to a
 * packet that conntrack calls INVALID would cut a live connection (kubernetes#74839).
 */
export function renderGuard(family: Family): Chain {
  const unreachable = family === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
  const refused = comment("no endpoint for this ClusterSetIP and port");
  return {
    name: GUARD,
    rules: [
      `-A ${GUARD} -p tcp -m conntrack --ctstate NEW ${refused} -j REJECT --reject-with tcp-reset`,
      `-A ${GUARD} -m conntrack --ctstate NEW ${refused} -j REJECT --reject-with ${unreachable}`,
      `-A ${GUARD} ${comment("not a new connection")} -j DROP`,
    ],
  };
}
