import type { Address } from "../../api/address.ts";
import { digitsOf } from "../doubles/iptables/parse-address.ts";

/** Whether an address has these bits under a mask, both as text, such as `0.0.0.1`. */
export function hasBits({ family, hex }: Address, mask: string, bits: string): boolean {
  const number = (text: string) => BigInt(`0x${digitsOf(text, family)}`);
  return (BigInt(`0x${hex}`) & number(mask)) === number(bits);
}
