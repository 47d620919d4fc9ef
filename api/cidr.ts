import { type Address, addressFromHex, type Family, isAddress, parseAddress } from "./address.ts";

/** An address range. `text` is canonical: host bits are zero, as the kernel tools print it. */
export interface Cidr {
  readonly family: Family;
  readonly text: string;
  /** Length of the prefix in bits: 0 to 32, or 0 to 128. */
  readonly bits: number;
  /** The first address of the range, as `Address.hex`. */
  readonly hex: string;
}

/** Why a text is not a range. */
export type CidrFault = "invalid-cidr" | "host-bits-set";

/**
 * Parses `address/bits`. Host bits must be zero: `10.1.2.3/16` is more often a mistake than a wish, and the
 * kernel would silently match more than the reader of the flag believes.
 */
export function parseCidr(text: string): Cidr | CidrFault {
  const [base = "", length = "", ...rest] = text.split("/");
  const address = parseAddress(base);
  if (!isAddress(address) || rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(length)) {
    return "invalid-cidr";
  }
  const bits = Number(length);
  if (bits > widthOf(address.family)) return "invalid-cidr";
  const cidr = cidrOf(address, bits);
  return cidr.hex === address.hex ? cidr : "host-bits-set";
}

/** True if `parseCidr` gave a range rather than the reason why not. */
export function isCidr(parsed: Cidr | CidrFault): parsed is Cidr {
  return typeof parsed !== "string";
}

/** Bits of an address of this family. */
export function widthOf(family: Family): 32 | 128 {
  return family === "IPv4" ? 32 : 128;
}

/** The range of `bits` bits that `address` lies in. */
export function cidrOf(address: Address, bits: number): Cidr {
  const whole = address.hex.slice(0, bits >> 2);
  const spare = bits & 3;
  const digit = Number.parseInt(address.hex[bits >> 2] ?? "0", 16) & (0xf0 >> spare);
  const hex = `${whole}${spare === 0 ? "" : digit.toString(16)}`.padEnd(address.hex.length, "0");
  return { family: address.family, text: `${addressFromHex(hex).text}/${bits}`, bits, hex };
}

/** True if `address` lies inside `cidr`; false, too, if they are of different families. */
export function contains(cidr: Cidr, address: Address): boolean {
  return cidr.family === address.family && cidrOf(address, cidr.bits).hex === cidr.hex;
}

/** True if the two ranges share an address. */
export function overlap(a: Cidr, b: Cidr): boolean {
  const [wide, narrow] = a.bits <= b.bits ? [a, b] : [b, a];
  return contains(wide, { family: narrow.family, text: "", hex: narrow.hex });
}

/** Pairs of ranges, one of each list, that share an address. */
export function overlaps(
  some: readonly Cidr[],
  others: readonly Cidr[],
): (readonly [Cidr, Cidr])[] {
  return some.flatMap((one) =>
    others.filter((other) => overlap(one, other)).map((other) => [one, other] as const),
  );
}
