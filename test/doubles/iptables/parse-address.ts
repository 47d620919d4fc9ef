import { type Address, type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { type Cidr, cidrOf, widthOf } from "../../../api/cidr.ts";
import { Refused, UnknownGrammar } from "./faults.ts";

/** One address of `family`; the C library reads more spellings than the product may write. */
export function parseHost(text: string, family: Family): Address {
  const address = parseAddress(text);
  if (!isAddress(address)) throw new UnknownGrammar(`address ${text}`);
  if (address.family !== family) throw new Refused("syntax", `host/network \`${text}' not found`);
  return address;
}

/** `address[/bits]`, masked as iptables masks `-s` and `-d`. */
export function parseRange(text: string, family: Family): Cidr {
  const [base = "", bits, ...rest] = text.split("/");
  const address = parseHost(base, family);
  const width = widthOf(family);
  if (bits === undefined) return cidrOf(address, width);
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits)) throw new UnknownGrammar(`range ${text}`);
  if (Number(bits) > width) throw new Refused("syntax", `invalid mask \`${bits}' specified`);
  return cidrOf(address, Number(bits));
}
