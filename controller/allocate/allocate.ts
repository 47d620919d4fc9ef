import { createHash } from "node:crypto";
import type { Address, Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import { addressAt, type Span, spanOf, usableSpan } from "./pool.ts";

/**
 * A VIP for the import `key` out of `cidr`, or "exhausted" if none is free. The first try is a hash away, so that
 * clusters with the same range mostly give a service the same address, without asking each other; from there the
 * next free one is taken, around the range's end. `taken` holds addresses (`Address.text`), `reserved` ranges that
 * are never given.
 *
 * The cost is bounded by what is taken and reserved, not by the size of the range: each step meets another taken
 * address, or leaves a whole reserved range behind.
 */
export function allocate(
  key: ObjectKey,
  family: Family,
  cidr: Cidr,
  taken: ReadonlySet<string>,
  reserved: readonly Cidr[],
): Address | "exhausted" {
  const span = usableSpan(cidr);
  const size = span.last - span.first + 1n;
  if (cidr.family !== family || size <= 0n) return "exhausted";
  const walls = reserved.filter((range) => range.family === family).map(spanOf);
  const start = span.first + (hashOf(key, family) % size);
  return (
    firstFree(family, { first: start, last: span.last }, taken, walls) ??
    firstFree(family, { first: span.first, last: start - 1n }, taken, walls) ??
    "exhausted"
  );
}

function firstFree(
  family: Family,
  { first, last }: Span,
  taken: ReadonlySet<string>,
  walls: readonly Span[],
): Address | undefined {
  let number = first;
  while (number <= last) {
    const wall = walls.find((one) => one.first <= number && number <= one.last);
    if (wall !== undefined) {
      number = wall.last + 1n;
      continue;
    }
    const address = addressAt(family, number);
    if (!taken.has(address.text)) return address;
    number++;
  }
  return undefined;
}

/** 256 bits: the remainder by any size of range is as good as even. */
function hashOf(key: ObjectKey, family: Family): bigint {
  return BigInt(`0x${createHash("sha256").update(`${key} ${family}`).digest("hex")}`);
}
