import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseTable } from "./listing.ts";

const listing = (...nftables: readonly unknown[]) => JSON.stringify({ nftables });

describe("a listing of nft", () => {
  test("has the comments of rules in order, also missing ones", () => {
    const text = listing({ metainfo: {} }, { rule: { comment: "a" } }, { rule: {} });
    assert.deepEqual(parseTable(text), { sets: new Map(), rules: ["a", ""] });
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
    assert.deepEqual(parseTable(text), { sets, rules: [] });
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
