import { type Address, addressFromHex, type Family } from "../../api/address.ts";
import { type Cidr, widthOf } from "../../api/cidr.ts";

/** What VIPs are taken from. */
export interface VipPool {
  /** The ClusterSet CIDRs; of one family the first with a free address serves. */
  readonly ranges: readonly Cidr[];
  /** What others have, as `Address.text`: VIPs of other imports, ClusterIPs of Services. */
  readonly taken: ReadonlySet<string>;
  /** Ranges of others that overlap `ranges` (`reservedIn`): none of their addresses is given. */
  readonly reserved: readonly Cidr[];
}

/** Addresses from `first` to `last`, both included, as numbers. Empty if `last` is less. */
export interface Span {
  readonly first: bigint;
  readonly last: bigint;
}

/** All addresses of a range. */
export function spanOf(cidr: Cidr): Span {
  const first = BigInt(`0x${cidr.hex}`);
  return { first, last: first + (1n << BigInt(widthOf(cidr.family) - cidr.bits)) - 1n };
}

/**
 * The addresses of a range that can be a VIP. Not an IPv4 range's first and last, which are the network's name and
 * its broadcast address (RFC 1122 3.2.1.3); not an IPv6 range's first, the anycast address of its routers (RFC
 * 4291 2.6.1).
 */
export function usableSpan(cidr: Cidr): Span {
  const { first, last } = spanOf(cidr);
  return { first: first + 1n, last: cidr.family === "IPv4" ? last - 1n : last };
}

/** The address of this number. */
export function addressAt(family: Family, number: bigint): Address {
  return addressFromHex(number.toString(16).padStart(widthOf(family) / 4, "0"));
}
