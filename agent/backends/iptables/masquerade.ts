import type { Family } from "../../../api/address.ts";
import type { Cidr } from "../../../api/cidr.ts";
import type { Masquerade } from "../backend.ts";
import { MASQUERADE } from "./chain-name.ts";
import { type Chain, renderHairpin } from "./render.ts";
import { comment } from "./rule.ts";

/** What decides about masquerading. */
export interface MasqueradePolicy {
  readonly mode: Masquerade;
  /** The cluster's pod ranges; `off-cluster` and `remote` are measured against them. */
  readonly podCidrs: readonly Cidr[];
}

/**
 * The chain that every connection passes which we have DNATed, on its first packet. An endpoint that opens a
 * connection to its own VIP would get answers from itself past the NAT, so those are masqueraded whatever the
 * mode; `hairpins` are the addresses that may run on this node. No packet marks: conntrack knows what was
 * DNATed and where to, and marks belong to others (Kubernetes 0x4000, Calico 0xffff0000, Cilium 0x0f00).
 */
export function renderMasquerade(
  hairpins: readonly string[],
  policy: MasqueradePolicy,
  family: Family,
): Chain {
  const rules = hairpins.map((address) => renderHairpin(address, family));
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
