import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FAMILIES, type Family } from "../../../api/address.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { CodedError } from "../../../common/errors.ts";
import { forAll, forMany } from "../../../test/generators/for-all.ts";
import { SETS } from "../../backends/nftables/sets.ts";
import { AttributeWriter } from "../netlink/attribute-writer.ts";
import type { Element, SetLayout } from "./element.ts";
import { decodeElements, encodeChange } from "./encoding.ts";
import { decodeFields, type FieldKind, writeFields } from "./fields.ts";
import { parseTable } from "./listing.ts";
import { refusalOf } from "./refusal.ts";
import { numberText, parseElement, renderChange } from "./text.ts";

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

test("elements that are encoded are decoded, in order, from as many messages as they need", async () => {
  const cases = families.chain((family) =>
    layouts.chain((set) =>
      fc.record({
        ...{ family: fc.constant(family), set: fc.constant(set) },
        elements: fc.array(elementOf(set, family), { minLength: 1, maxLength: 20 }),
        copies: fc.constantFrom(1, 100),
      }),
    ),
  );
  await forMany(50, [cases], ({ family, set, elements, copies }) => {
    const all = Array.from({ length: copies }, () => elements).flat();
    const messages = encodeChange(family, "t", { kind: "add", set, elements: all });
    for (const { payload } of messages) assert.ok(payload.length < 65_536, "as attributes can be");
    const found = messages.flatMap(({ payload }) => decodeElements(payload, family, set));
    assert.deepEqual(found, all);
  });
});

test("an element with the fields of another set is reported as unknown", () => {
  const elements = [{ key: "f1000001", value: "", comment: "" }];
  const [message] = encodeChange("IPv4", "t", { kind: "add", set: SETS.explicit, elements });
  assert.ok(message);
  assert.deepEqual(decodeElements(message.payload, "IPv4", SETS.services), [undefined]);
});

test("no bytes make the decoder throw", () =>
  forAll([families, layouts, fc.uint8Array({ maxLength: 200 })], (family, set, bytes) => {
    decodeElements(Buffer.from(bytes), family, set);
  }));

function encodeFields(kinds: readonly FieldKind[], text: string): Buffer {
  const writer = new AttributeWriter();
  writeFields(writer, kinds, text);
  return writer.take();
}

test("each field begins at a multiple of four bytes, a port in network byte order, a number in the machine's", () => {
  const bytes = encodeFields(["address", "protocol", "port", "number"], "f1000001 TCP 80 3");
  assert.equal(bytes.toString("hex"), "f10000010600000000500000" + "03000000");
});

test("what is encoded is decoded", async () => {
  const cases = families.chain((family) =>
    layouts.chain((set) =>
      fc.record({
        ...{ family: fc.constant(family), set: fc.constant(set) },
        element: elementOf(set, family),
      }),
    ),
  );
  await forAll([cases], ({ family, set, element }) => {
    assert.equal(decodeFields(set.key, encodeFields(set.key, element.key), family), element.key);
  });
});

test("bytes of another length, and a protocol that we do not know, are no fields of ours", () => {
  for (const family of FAMILIES) {
    assert.equal(decodeFields(["port"], Buffer.alloc(8), family), undefined);
    assert.equal(decodeFields(["protocol"], Buffer.of(1, 0, 0, 0), family), undefined);
  }
});

test("a text without the fields of the set is an error", () => {
  assert.throws(() => encodeFields(["port", "port"], "80"), TypeError);
  assert.throws(() => encodeFields(["protocol"], "ICMP"), TypeError);
});

const listing = (...nftables: readonly unknown[]) => JSON.stringify({ nftables });

const EMPTY = { sets: new Map(), hooks: new Map(), rules: [], chains: [], hasFlags: false };

describe("a listing of nft", () => {
  test("has the comments of rules in order, also missing ones, and their chains", () => {
    const text = listing({ metainfo: {} }, { rule: { comment: "a" } }, { rule: { chain: "c" } });
    assert.deepEqual(parseTable(text), { ...EMPTY, rules: ["a", ""], chains: ["", "c"] });
  });

  test("has base chains, and says that the table has flags", () => {
    const base = { name: "b", type: "nat", hook: "output", prio: -105, policy: "accept" };
    const text = listing({ table: { flags: "t" } }, { chain: { name: "c" } }, { chain: base });
    const hooks = new Map([["b", "nat hook output priority -105; policy accept"]]);
    assert.deepEqual(parseTable(text), { ...EMPTY, hooks, hasFlags: true });
    const cut = '{"nftables": [{"table": {"family": "arp", "name": "t", "flags": ';
    assert.deepEqual(parseTable(cut), { ...EMPTY, rules: [""], chains: [""], hasFlags: true });
  });

  test("has elements with one or more fields, with and without a comment", () => {
    const elem = ["10.0.0.1", { concat: ["a", 1] }, { elem: { val: "b", comment: "c" } }];
    const elements = [
      { fields: ["10.0.0.1"], value: [], comment: "" },
      { fields: ["a", 1], value: [], comment: "" },
      { fields: ["b"], value: [], comment: "c" },
    ];
    const text = listing({ set: { name: "s", elem } }, { set: { name: "empty" } });
    const sets = new Map([
      ["s", elements],
      ["empty", []],
    ]);
    assert.deepEqual(parseTable(text), { ...EMPTY, sets });
  });

  test("has the values of maps", () => {
    const elem = [
      ["0:1", { concat: ["10.1.0.1", 80] }],
      [{ elem: { val: "0:2", comment: "c" } }, "none"],
    ];
    const elements = [
      { fields: ["0:1"], value: ["10.1.0.1", 80], comment: "" },
      { fields: ["0:2"], value: ["none"], comment: "c" },
    ];
    const { sets } = parseTable(listing({ map: { name: "m", elem } })) ?? assert.fail();
    assert.deepEqual(sets, new Map([["m", elements]]));
  });

  test("is malformed if it is not JSON, or JSON without a list", () => {
    for (const text of ["", "{", "null", "[]", '{"nftables":{}}'])
      assert.equal(parseTable(text), undefined, text);
  });
});

test("elements are written as nft prints them", () => {
  const key = "f1000001 TCP 80";
  const change = (set: (typeof SETS)[keyof typeof SETS], element: { key: string; value: string }) =>
    renderChange("ip t", {
      kind: "add",
      set,
      elements: [{ ...element, comment: "shop/web:http local" }],
    });
  assert.equal(
    change(SETS.services, { key, value: "3" }),
    'add element ip t services { 241.0.0.1 . tcp . 80 comment "shop/web:http local" : 0:3 }\n',
  );
  assert.equal(
    change(SETS.endpoints, { key: `${key} 0`, value: "0a01000b 8080" }),
    'add element ip t endpoints { 241.0.0.1 . tcp . 80 . none comment "shop/web:http local" : 10.1.0.11 . 8080 }\n',
  );
  const removal = { kind: "delete", set: SETS.explicit, keys: ["c6336407", "c6336408"] } as const;
  assert.equal(
    renderChange("ip t", removal),
    "delete element ip t explicit { 198.51.100.7, 198.51.100.8 }\n",
  );
});

test("numbers are read back as nft prints them", () =>
  forAll([fc.integer({ min: 0, max: 0xffffffff })], (number) => {
    const set = { name: "s", key: ["number"] } as const;
    const found = parseElement(set, { fields: [numberText(number)], value: [], comment: "" });
    assert.equal(found?.key, `${number}`);
  }));

test("elements with other fields are unknown", () => {
  const parse = (fields: readonly unknown[], value: readonly unknown[] = ["0:1"]) =>
    parseElement(SETS.services, { fields, value, comment: "" });
  assert.deepEqual(parse(["241.0.0.1", "tcp", 80]), {
    key: "f1000001 TCP 80",
    value: "1",
    comment: "",
  });
  for (const fields of [[], ["241.0.0.1", "tcp"], ["x", "tcp", 80], ["241.0.0.1", "icmp", 80]])
    assert.equal(parse(fields), undefined);
  assert.equal(parse(["241.0.0.1", "tcp", 80], ["pick-1"]), undefined);
});

const failed = (message: string) => new CodedError("CSP_EXEC_FAILED", message);

test("an element that the kernel rejects is a refusal, whichever way nft was started", () => {
  for (const start of ["nft: ", "nft -f -: exit status 1: /dev/stdin:1:1-3: "]) {
    const error = refusalOf(
      failed(`${start}Error: Could not process rule: File exists\nadd element`),
    );
    assert.ok(error instanceof CodedError);
    assert.deepEqual([error.code, error.rejected], ["CSP_NFT_REFUSED", true]);
    assert.equal(error.message, "nft: add elements: File exists");
  }
});

test("errors of nft itself, of the node and of a table that is gone stay as they are", () => {
  for (const message of [
    "nft: Error: syntax error, unexpected newline",
    "nft: Error: No such file or directory; did you mean table?",
    "nft: Error: Could not process rule: Cannot allocate memory",
    "nft: Error: Could not process rule: Operation not permitted",
  ]) {
    const error = failed(message);
    assert.equal(refusalOf(error), error);
  }
  const timeout = new CodedError(
    "CSP_EXEC_TIMEOUT",
    "nft: Error: Could not process rule: File exists",
  );
  assert.equal(refusalOf(timeout), timeout);
});
