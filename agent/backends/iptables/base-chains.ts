import type { Family } from "../../../api/address.ts";
import { addressBits } from "../../../api/cidr.ts";
import type { MasqueradePolicy } from "../backend.ts";
import { GUARD, HAIRPIN, MASQUERADE } from "./chain-name.ts";
import type { Chain } from "./render.ts";
import { comment } from "./rule.ts";

/**
 * Masquerades a packet whose source is its destination, and returns others: an endpoint that connects to its own VIP would reply to
 * itself directly, past NAT. Most other packets differ in one of the last bits, so few of the rules are evaluated.
 */
export function renderHairpin(family: Family): Chain {
  const rules = addressBits(family).flatMap(({ mask, unset }, i, { length }) => {
    // iptables-save prints a mask that is a prefix by its length.
    const of = i === length - 1 ? "1" : mask.text;
    const [zero, one] = [`${unset.text}/${of}`, `${mask.text}/${of}`];
    return [`-s ${zero} -d ${one} -j RETURN`, `-s ${one} -d ${zero} -j RETURN`];
  });
  const all = [...rules, `${comment("hairpin")} -j MASQUERADE --random-fully`];
  return { name: HAIRPIN, rules: all.map((rule) => `-A ${HAIRPIN} ${rule}`) };
}

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

/**
 * The rules for the first packet of each DNATed connection. Connections of endpoints to themselves are masqueraded in every
 * mode, because replies would bypass NAT. The rules match conntrack state, because other programs use packet marks (Kubernetes
 * 0x4000, Calico 0xffff0000, Cilium 0x0f00).
 */
export function renderMasquerade(policy: MasqueradePolicy, family: Family): Chain {
  const rules = [`${comment("hairpin")} -j ${HAIRPIN}`];
  const pods = policy.podCidrs.filter((cidr) => cidr.family === family);
  const all = (text: string) => `${comment(text)} -j MASQUERADE --random-fully`;
  const unless = (side: "-s" | "-d", text: string) => [
    ...pods.map((cidr) => `${side} ${cidr.text} ${comment(text)} -j RETURN`),
    all(text),
  ];
  if (policy.mode === "off-cluster") rules.push(...unless("-s", "masquerade off-cluster"));
  if (policy.mode === "remote") rules.push(...unless("-d", "masquerade remote"));
  if (policy.mode === "all") rules.push(all("masquerade all"));
  return { name: MASQUERADE, rules: rules.map((rule) => `-A ${MASQUERADE} ${rule}`) };
}
