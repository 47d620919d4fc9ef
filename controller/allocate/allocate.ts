import { createHash } from "node:crypto";
import type { Address, Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import { addressAt, type Span, spanOf, usableSpan, type VipPool } from "./pool.ts";

/**
 * A free VIP for the import `key` in `cidr`. The first candidate follows from a hash, so that clusters with the same
 * range mostly choose the same address; the next free one follows. `taken` holds addresses (`Address.text`). The cost
 * depends on what is taken and reserved, not on the size of the range.
 */
export function allocate(
  key: ObjectKey,
  family: Family,
  cidr: Cidr,
  taken: VipPool["taken"],
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
  taken: VipPool["taken"],
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

/** 256 bits, so the remainder is practically uniform. */
function hashOf(key: ObjectKey, family: Family): bigint {
  return BigInt(`0x${createHash("sha256").update(`${key} ${family}`).digest("hex")}`);
}
