import assert from "node:assert/strict";
import { test } from "node:test";
import { aroundNodes, overlapsAmong, rangesIn, rangesText } from "./ranges.ts";

function ranges(text: string) {
  return rangesIn(text) ?? assert.fail(`${text} has no ranges`);
}

test("the range around Nodes has the usual size, and is larger if they do not fit", () => {
  const around = (text: string) => rangesText(aroundNodes(ranges(text)));
  assert.equal(around("10.1.3.0/24,10.1.200.0/24"), "10.1.0.0/16");
  assert.equal(around("10.1.3.0/24,10.2.0.0/24"), "10.0.0.0/14");
  assert.equal(around("10.4.0.0/14"), "10.4.0.0/14");
  assert.equal(around("10.1.3.0/24,fd00:10:1:5::/64"), "10.1.0.0/16,fd00:10:1::/48");
  assert.deepEqual(aroundNodes([]), []);
});

test("a text with an invalid range has none", () => {
  for (const text of ["", "10.1.0.0", "10.1.0.1/16", "10.1.0.0/16,x"])
    assert.equal(rangesIn(text), undefined, text);
});

test("ranges of one owner may overlap, others are named", () => {
  const owned = (owner: string, text: string) => ranges(text).map((range) => ({ owner, range }));
  const found = overlapsAmong([
    ...owned("a", "10.0.0.0/8,10.1.0.0/16"),
    ...owned("b", "10.1.2.0/24,fd00::/48"),
  ]);
  assert.deepEqual(found, [
    "10.0.0.0/8 (a) overlaps 10.1.2.0/24 (b)",
    "10.1.0.0/16 (a) overlaps 10.1.2.0/24 (b)",
  ]);
});
