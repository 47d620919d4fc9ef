import { Address4, Address6 } from "ip-address";
import {
  type Address,
  addressFromHex,
  type Family,
  isAddress,
  parseAddress,
} from "../../../api/address.ts";
import { type Cidr, cidrOf, widthOf } from "../../../api/cidr.ts";
import { UnknownGrammar } from "./faults.ts";
import type { Masked } from "./rule.ts";

/** One address of `family`; the C library reads more spellings than the product may write. */
export function parseHost(text: string, family: Family): Address {
  const address = parseAddress(text);
  if (!isAddress(address) || address.family !== family) throw new UnknownGrammar(`address ${text}`);
  return address;
}

/** `address[/bits]`, masked as iptables masks `-s` and `-d`. */
export function parseRange(text: string, family: Family): Cidr {
  const [base = "", bits, ...rest] = text.split("/");
  const address = parseHost(base, family);
  const width = widthOf(family);
  if (bits === undefined) return cidrOf(address, width);
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > width)
    throw new UnknownGrammar(`range ${text}`);
  return cidrOf(address, Number(bits));
}

/** `address/mask` with a mask that is no prefix; undefined for other texts. */
export function parseMasked(text: string, family: Family): Masked | undefined {
  const [base = "", mask = ""] = text.split("/");
  if (!/[.:]/.test(mask)) return undefined;
  const [hex, bits] = [digitsOf(base, family), digitsOf(mask, family)];
  const ones = BigInt(`0x${bits}`).toString(2).padStart(widthOf(family), "0");
  if (/^1+0*$/.test(ones)) throw new UnknownGrammar(`a prefix as mask: ${text}`);
  if ((BigInt(`0x${hex}`) & ~BigInt(`0x${bits}`)) !== 0n)
    throw new UnknownGrammar(`bits outside of the mask: ${text}`);
  const printed = [hex, bits].map(printedAs).join("/");
  return { text: printed, mask, bits: base };
}

/** As the GNU C library prints it: the last four bytes as IPv4 if only these are set, and not only the last two. */
function printedAs(hex: string): string {
  const { text } = addressFromHex(hex);
  if (!/^0{24}(?!0{4})/.test(hex) || hex.length === 8) return text;
  return `::${addressFromHex(hex.slice(24)).text}`;
}

/** The digits of an address in any spelling: masks are no addresses of hosts. */
export function digitsOf(text: string, family: Family): string {
  const address = family === "IPv4" ? new Address4(text) : new Address6(text);
  return address
    .bigInt()
    .toString(16)
    .padStart(widthOf(family) / 4, "0");
}
