import type { Family } from "../../../api/address.ts";
import { addressBits } from "../address-bits.ts";
import { WORDS } from "./words.ts";

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
