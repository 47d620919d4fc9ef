import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { importerOf, originOf } from "./origin.ts";

const EUROPE = new Map([["continent", "europe"]]);
const ASIA = new Map([["continent", "asia"]]);

describe("a slice", () => {
  test("of another cluster has its own values, and the region of the flag", () => {
    const slice = sliceFact({ cluster: "c2", region: "us-east", properties: ASIA });
    const said = { cluster: "c2", region: "us-east", properties: ASIA };
    assert.deepEqual(originOf(slice, nodeFact({ properties: EUROPE })), said);
    const clusterRegions = new Map([["c2", "ap-east"]]);
    const moved = { ...said, region: "ap-east" };
    assert.deepEqual(originOf(slice, nodeFact({ clusterRegions })), moved);
  });

  test("of my cluster without a region is in mine", () => {
    const home = { cluster: "c1", region: "eu-west" };
    assert.deepEqual(originOf(sliceFact({ cluster: "c1" }), nodeFact()), home);
  });

  test("of my cluster has the local properties, whatever its own are", () => {
    const slice = sliceFact({ cluster: "c1", properties: ASIA });
    assert.equal(originOf(slice, nodeFact({ properties: EUROPE })).properties, EUROPE);
    assert.equal(originOf(slice, nodeFact()).properties, ASIA);
  });

  test("of no cluster has neither region nor properties", () => {
    const slice = sliceFact({ region: "eu-west", properties: EUROPE });
    assert.deepEqual(originOf(slice, nodeFact({ properties: EUROPE })), {});
  });
});

test("an importer without an id or a region does not have these properties", () => {
  const { cluster: _, region: __, ...node } = nodeFact({ properties: EUROPE });
  assert.deepEqual(importerOf(node), { properties: EUROPE });
});
