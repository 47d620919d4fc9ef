import type { Family } from "../../../api/address.ts";
import { GUARD } from "./chain-name.ts";
import type { Chain } from "./render.ts";
import { comment } from "./rule.ts";

/**
 * Rejects new connections that are still addressed to a ClusterSetIP after DNAT, because the port has no endpoint or no import.
 * That happens before conntrack confirms them, so that the same source port can connect later. Other packets are dropped: a
 * reset in reply to an INVALID packet would end a live connection (kubernetes#74839).
 */
export function renderGuard(family: Family): Chain {
  const unreachable = family === "IPv4" ? "icmp-port-unreachable" : "icmp6-port-unreachable";
  const why = comment("no endpoint for this ClusterSetIP and port");
  return {
    name: GUARD,
    rules: [
      `-A ${GUARD} -p tcp -m conntrack --ctstate NEW ${why} -j REJECT --reject-with tcp-reset`,
      `-A ${GUARD} -m conntrack --ctstate NEW ${why} -j REJECT --reject-with ${unreachable}`,
      `-A ${GUARD} ${comment("not a new connection")} -j DROP`,
    ],
  };
}
