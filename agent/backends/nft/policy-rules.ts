import type { Family } from "../../../api/address.ts";
import type { MasqueradePolicy } from "../backend.ts";
import { WORDS } from "./words.ts";

/** The rules that masquerade by policy, after those for hairpins. PURE. */
export function policyRules(family: Family, { mode, podCidrs }: MasqueradePolicy): string[] {
  const { ip } = WORDS[family];
  const pods = podCidrs.filter((cidr) => cidr.family === family);
  const unless = (side: string) => pods.map(({ text }) => `${ip} ${side} ${text} return`);
  const all = "masquerade fully-random";
  if (mode === "off-cluster") return [...unless("saddr"), all];
  if (mode === "remote") return [...unless("daddr"), all];
  return mode === "all" ? [all] : [];
}
