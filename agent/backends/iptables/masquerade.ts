import type { Family } from "../../../api/address.ts";
import type { MasqueradePolicy } from "../backend.ts";
import { HAIRPIN, MASQUERADE } from "./chain-name.ts";
import type { Chain } from "./render.ts";
import { comment } from "./rule.ts";

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
