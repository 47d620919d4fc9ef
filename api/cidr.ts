import { Address4, Address6 } from "ip-address";
import {
  type Address,
  addressFromHex,
  FAMILIES,
  type Family,
  isAddress,
  parseAddress,
} from "./address.ts";

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
 * Parses `address/bits`. Host bits must be zero: `10.1.2.3/16` is usually a mistake. Without ip-address, which takes four times as
 * long: a controller reads the ranges of each cluster with each renewal of its Lease.
 */
export function parseCidr(text: string): Cidr | CidrFault {
  const slash = text.lastIndexOf("/");
  const base = parseAddress(text.slice(0, slash));
  if (!isAddress(base) || !/^\/(0|[1-9]\d{0,2})$/.test(text.slice(slash))) return "invalid-cidr";
  const bits = Number(text.slice(slash + 1));
  const hostBits = widthOf(base.family) - bits;
  if (hostBits < 0) return "invalid-cidr";
  const host = BigInt.asUintN(hostBits, BigInt(`0x${base.hex}`));
  if (host !== 0n) return "host-bits-set";
  return { family: base.family, text: `${base.text}/${bits}`, bits, hex: base.hex };
}

function cidrFrom(range: Address4 | Address6): Cidr {
  const family = range instanceof Address4 ? "IPv4" : "IPv6";
  const first = range.startAddress();
  const hex = first
    .bigInt()
    .toString(16)
    .padStart(widthOf(family) / 4, "0");
  return { family, text: `${first.correctForm()}${range.subnet}`, bits: range.subnetMask, hex };
}

/** True for a range, false for a fault. */
export function isCidr(parsed: Cidr | CidrFault): parsed is Cidr {
  return typeof parsed !== "string";
}

/** Bits of an address of this family. */
export function widthOf(family: Family): 32 | 128 {
  return family === "IPv4" ? 32 : 128;
}

/** The range of `bits` bits that contains `address`. */
export function cidrOf({ family, text }: Address, bits: number): Cidr {
  const range = `${text}/${bits}`;
  return cidrFrom(family === "IPv4" ? new Address4(range) : new Address6(range));
}

/** True if `cidr` contains `address`. Compares digits, because it is called for each endpoint of each change. */
export function contains({ family, hex, bits }: Cidr, address: Address): boolean {
  const whole = bits >> 2;
  if (family !== address.family || !address.hex.startsWith(hex.slice(0, whole))) return false;
  const mask = 0xf0 >> (bits & 3);
  return ((digitAt(hex, whole) ^ digitAt(address.hex, whole)) & mask & 0xf) === 0;
}

function digitAt(hex: string, index: number): number {
  return Number.parseInt(hex[index] ?? "0", 16);
}

/** True if the two ranges share an address. */
export function overlap(a: Cidr, b: Cidr): boolean {
  const [wide, narrow] = a.bits <= b.bits ? [a, b] : [b, a];
  return contains(wide, { family: narrow.family, text: "", hex: narrow.hex });
}

/** The ranges of one family. */
export function ofFamily(ranges: readonly Cidr[], family: Family): Cidr[] {
  return ranges.filter((range) => range.family === family);
}

/** The families that have a range, each once. */
export function familiesIn(ranges: readonly Cidr[]): Family[] {
  return FAMILIES.filter((family) => ranges.some((range) => range.family === family));
}

/** True if one of the ranges contains the address. */
export function containsAny(ranges: readonly Cidr[], address: Address): boolean {
  return ranges.some((range) => contains(range, address));
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

/** A mask with one bit of an address, and the values that the bit can have under this mask. */
export interface AddressBit {
  readonly mask: Address;
  readonly unset: Address;
}

/**
 * Every bit of an address. Rules that compare source and destination bit by bit find a pod that connects to itself without a list of pods: neither
 * iptables nor nft can compare two fields. The last bit comes first, because addresses of one network differ there.
 */
export function addressBits(family: Family): AddressBit[] {
  const digits = widthOf(family) / 4;
  const unset = addressFromHex("0".repeat(digits));
  return Array.from({ length: widthOf(family) }, (_, i) => {
    const hex = (1n << BigInt(i)).toString(16).padStart(digits, "0");
    return { mask: addressFromHex(hex), unset };
  });
}
