import assert from "node:assert/strict";
import { test } from "node:test";
import { plansOf } from "./spec.ts";

test("Invalid numbers, regions and modes are rejected, and the message names them", () => {
  assert.throws(() => plansOf({ clusters: 0 }), /clusters: 0/);
  assert.throws(() => plansOf({ nodes: 1.5 }), /nodes: 1\.5/);
  assert.throws(() => plansOf({ regions: ["eu_west"] }), /region "eu_west"/);
  assert.throws(() => plansOf({ names: ["Old"] }), /name "Old"/);
});
