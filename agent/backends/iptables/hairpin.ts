import type { Family } from "../../../api/address.ts";
import { addressBits } from "../address-bits.ts";
import { HAIRPIN } from "./chain-name.ts";
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
