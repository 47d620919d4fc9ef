import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cidr } from "../../api/cidr.ts";
import { cidr } from "../../test/generators/facts.ts";
import { SLICE } from "../../test/generators/registry-facts.ts";
import type { SliceFact } from "../model/facts.ts";
import { outsideOf } from "./outside.ts";

/** A slice with these addresses, in any state. */
function slice(...addresses: readonly string[]): SliceFact {
  const conditions = { ready: false, serving: false, terminating: false };
  return { ...SLICE, endpoints: addresses.map((address) => ({ address, ...conditions })) };
}

/** Ranges by who declares them; undefined: it does not say. */
function declared(by: Readonly<Record<string, string | undefined>>) {
  const cidrsOf = (text: string | undefined): readonly Cidr[] | undefined =>
    text?.split(",").map(cidr);
  return { ranges: new Map(Object.entries(by).map(([name, text]) => [name, cidrsOf(text)])) };
}

const PODS = "10.1.0.0/16,fd00:1::/48";

test("endpoints outside are counted once each, with the first as an example", () => {
  const slices = [slice("192.0.2.8", "10.1.0.7"), slice("fd00:2::1", "192.0.2.8", "fd00:1::1")];
  assert.deepEqual(outsideOf(slices, declared({ hub: PODS })), {
    count: 2,
    of: 4,
    example: "192.0.2.8",
    by: "hub",
    ranges: PODS,
    everywhere: new Set(["192.0.2.8", "fd00:2::1"]),
  });
});

test("nothing is outside without ranges, without endpoints, or if all are inside", () => {
  const inside = slice("10.1.0.7", "fd00:1::1");
  assert.equal(outsideOf([inside], declared({ hub: PODS })), undefined);
  assert.equal(outsideOf([inside], declared({ hub: "0.0.0.0/0,::/0" })), undefined);
  assert.equal(outsideOf([slice()], declared({ hub: PODS })), undefined);
  assert.equal(outsideOf([slice("192.0.2.8")], declared({})), undefined);
  assert.equal(outsideOf([slice("192.0.2.8")], declared({ c2: undefined })), undefined);
});

test("of several clusters, the one that rejects most is named, and an endpoint is lost that none accepts", () => {
  const slices = [slice("10.1.0.7", "10.2.0.7", "192.0.2.8")];
  const by = { c2: PODS, c3: "10.1.0.0/16,10.2.0.0/16", c4: PODS };
  const found = outsideOf(slices, declared(by));
  assert.equal(`${found?.by} ${found?.count} ${found?.example}`, "c2 2 10.2.0.7");
  assert.deepEqual([...(found?.everywhere ?? [])], ["192.0.2.8"]);
  const unknown = outsideOf(slices, declared({ ...by, c5: undefined }));
  assert.deepEqual([...(unknown?.everywhere ?? [])], []);
  assert.equal(unknown?.count, 2);
});
