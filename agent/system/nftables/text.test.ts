import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { SETS } from "../../backends/nftables/sets.ts";
import { numberText, parseElement, renderChange } from "./text.ts";

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
