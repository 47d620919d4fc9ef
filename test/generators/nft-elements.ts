import fc from "fast-check";
import { SETS } from "../../agent/backends/nftables/sets.ts";
import type { Element, SetLayout } from "../../agent/system/nftables/element.ts";
import type { FieldKind } from "../../agent/system/nftables/fields.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { PROTOCOLS } from "../../api/protocol.ts";

/** Elements of the sets of the nftables backend. */

export const families = fc.constantFrom(...FAMILIES);
export const layouts = fc.constantFrom<SetLayout[]>(...Object.values(SETS));

/** Any element of a set, with or without a comment. */
export function elementOf(set: SetLayout, family: Family): fc.Arbitrary<Element> {
  const parts = {
    key: fieldsOf(set.key, family),
    value: set.value === undefined ? fc.constant("") : fieldsOf(set.value, family),
    comment: fc.constantFrom("", "shop/web:http local c1", "x".repeat(127)),
  };
  return fc
    .tuple(fc.record(parts, { noNullPrototype: true }), fc.option(fc.nat(3_600_000)))
    .map(([element, timeout]) => ({ ...element, ...(timeout !== null && { timeout }) }));
}

function fieldsOf(kinds: readonly FieldKind[], family: Family): fc.Arbitrary<string> {
  return fc.tuple(...kinds.map((kind) => fieldOf(kind, family))).map((all) => all.join(" "));
}

function fieldOf(kind: FieldKind, family: Family): fc.Arbitrary<string> {
  if (kind === "protocol") return fc.constantFrom(...PROTOCOLS);
  if (kind === "port") return fc.nat(0xffff).map(String);
  if (kind === "number") return fc.integer({ min: 0, max: 0xffffffff }).map(String);
  const bytes = family === "IPv4" ? 4 : 16;
  return (
    fc
      .uint8Array({ minLength: bytes, maxLength: bytes })
      // An IPv6 address that contains one of IPv4 is not canonical.
      .map((all) => Buffer.from([family === "IPv4" ? 10 : 0xfd, ...all.slice(1)]).toString("hex"))
  );
}
