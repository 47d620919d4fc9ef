import assert from "node:assert/strict";
import { test } from "node:test";
import { REASONS } from "../../api/reasons.ts";
import { IMPORT_CASES } from "../../test/generators/hostile-imports.ts";
import { CLUSTER_PROPERTY_CASES, NODE_CASES } from "../../test/generators/hostile-nodes.ts";
import { SLICE_PROPERTY_CASES } from "../../test/generators/hostile-properties.ts";
import { SELECTOR_CASES } from "../../test/generators/hostile-selectors.ts";
import { SLICE_CASES } from "../../test/generators/hostile-slices.ts";

test("every reason to reject a part of an object has a case in the tables of hostile objects", () => {
  const words = Object.keys(REASONS);
  // What follows is about files, and is the business of the source that reads them.
  const atTheDoor = words.slice(words.indexOf("invalid-object"), words.indexOf("duplicate-object"));
  assert.ok(atTheDoor.length > 15);
  const tables = [
    IMPORT_CASES,
    SELECTOR_CASES,
    SLICE_CASES,
    SLICE_PROPERTY_CASES,
    NODE_CASES,
    CLUSTER_PROPERTY_CASES,
  ];
  const cases = tables.flat().flatMap(({ problems }) => problems);
  const produced = new Set(cases.map((problem) => problem.split(" ")[0]));
  assert.deepEqual(
    atTheDoor.filter((word) => !produced.has(word)),
    [],
  );
});
