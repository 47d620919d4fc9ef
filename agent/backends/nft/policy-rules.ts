import type { Family } from "../../../api/address.ts";
import { addressBits } from "../../../api/cidr.ts";
import type { MasqueradePolicy } from "../backend.ts";
import { WORDS } from "./chains.ts";

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

/**
 * The rules of a chain that masquerades a packet whose source is its destination, and returns others: an endpoint that connects to its own VIP
 * would reply to itself directly, past NAT. PURE.
 */
export function hairpinRules(family: Family): string[] {
  const { ip } = WORDS[family];
  const rules = addressBits(family).flatMap(({ mask: { text: one }, unset: { text: zero } }) =>
    [
      [zero, one],
      [one, zero],
    ].map(([s, d]) => `${ip} saddr & ${one} == ${s} ${ip} daddr & ${one} == ${d} return`),
  );
  return [...rules, "masquerade fully-random"];
}
