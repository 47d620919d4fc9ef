import { type Address, addressFromHex, type Family } from "../../api/address.ts";
import { type Cidr, widthOf } from "../../api/cidr.ts";

/** Where VIPs are allocated. */
export interface VipPool {
  /** The ClusterSet CIDRs. VIPs of a family are allocated in its first one. */
  readonly ranges: readonly Cidr[];
  /** Addresses in use, as `Address.text`. */
  readonly taken: { has(address: string): boolean };
  /** Ranges in which no VIP is allocated. */
  readonly reserved: readonly Cidr[];
  /** VIPs of the imports of a namespace in the usable part of the first range of a family. Absent: none is counted, and no share is enforced. */
  readonly held?: (namespace: string, family: Family) => number;
  /** Addresses in use in that part, outside of the reserved ones. */
  readonly used?: (family: Family) => number;
}

/** A range of addresses as numbers, both ends included; empty if `last` is less. */
export interface Span {
  readonly first: bigint;
  readonly last: bigint;
}

export function spanOf(cidr: Cidr): Span {
  const first = BigInt(`0x${cidr.hex}`);
  return { first, last: first + (1n << BigInt(widthOf(cidr.family) - cidr.bits)) - 1n };
}

/**
 * The addresses of a range that can be a VIP: without the first and last of an IPv4 range (RFC 1122), and the first
 * of an IPv6 range, which is the routers' anycast address (RFC 4291).
 */
export function usableSpan(cidr: Cidr): Span {
  const { first, last } = spanOf(cidr);
  return { first: first + 1n, last: cidr.family === "IPv4" ? last - 1n : last };
}

/** True for an address of a range that can be a VIP, unless it is reserved. */
export function isUsable(cidr: Cidr, { family, hex }: Address): boolean {
  const { first, last } = usableSpan(cidr);
  const number = BigInt(`0x${hex}`);
  return family === cidr.family && first <= number && number <= last;
}

/** How many addresses of a range can be a VIP, without the reserved ones. */
export function sizeOf(cidr: Cidr, reserved: readonly Cidr[]): number {
  const { first, last } = usableSpan(cidr);
  const walls = reserved.filter(({ family }) => family === cidr.family).map(spanOf);
  let size = 0n;
  let next = first;
  for (const wall of walls.toSorted((a, b) => (a.first < b.first ? -1 : 1))) {
    if (wall.first > last) break;
    if (wall.first > next) size += wall.first - next;
    // Reserved ranges may overlap.
    if (wall.last >= next) next = wall.last + 1n;
  }
  if (next <= last) size += last - next + 1n;
  return Number(size);
}

export function addressAt(family: Family, number: bigint): Address {
  return addressFromHex(number.toString(16).padStart(widthOf(family) / 4, "0"));
}
