import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import { candidate } from "../../test/generators/candidates.ts";
import { nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { NodeFact, SliceFact } from "../model/facts.ts";
import { importerOf, memberTiers, originOf } from "./origin.ts";
import { sharesOf } from "./policies.ts";

type Origin = Partial<Pick<SliceFact, "cluster" | "region">>;
const MINE = "eu-west";
const regions = (cluster: string, region: string) => new Map([[cluster, region]]);

/** Where a slice comes from, and its tier on a node of cluster c1 and region eu-west; and `--cluster-regions`. */
const CASES: readonly (readonly [
  what: string,
  slice: Origin,
  tier: "local" | "regional" | "global",
  clusterRegions?: ReadonlyMap<string, string>,
])[] = [
  ["my cluster", { cluster: "c1", region: MINE }, "local"],
  ["my cluster, without a region", { cluster: "c1" }, "local"],
  ["my cluster, from another region", { cluster: "c1", region: "x" }, "local"],
  ["another of my region", { cluster: "c2", region: MINE }, "regional"],
  ["another region", { cluster: "c2", region: "us-east" }, "global"],
  ["another without a region", { cluster: "c2" }, "global"],
  ["an unknown origin", {}, "global"],
  ["an unknown origin of my region", { region: MINE }, "global"],
  ["one that a flag puts here", { cluster: "c2", region: "x" }, "regional", regions("c2", MINE)],
  ["one that a flag puts elsewhere", { cluster: "c2", region: MINE }, "global", regions("c2", "x")],
  [
    "one without a region that a flag puts here",
    { cluster: "c2" },
    "regional",
    regions("c2", MINE),
  ],
  [
    "one without a flag of its own",
    { cluster: "c2", region: MINE },
    "regional",
    regions("c3", "x"),
  ],
];

function tierOf(slice: Origin, node: NodeFact): string | undefined {
  const tiers = tiersOf({}, importerOf(node));
  return tiers[tierIndex(originOf(sliceFact(slice), node), tiers)]?.name;
}

describe("the tier of", () => {
  for (const [what, slice, tier, clusterRegions] of CASES) {
    test(`${what} is ${tier}`, () => {
      assert.equal(tierOf(slice, nodeFact({ ...(clusterRegions && { clusterRegions }) })), tier);
    });
  }

  test("my region is regional, and nothing is local, on a node without a cluster id", () => {
    const { cluster: _, ...node } = nodeFact();
    const tier = (slice: Origin) => tierOf(slice, node);
    assert.equal(tier({ cluster: "c1", region: "eu-west" }), "regional");
    assert.equal(tier({ cluster: "c1" }), "global");
    assert.equal(tier({}), "global");
  });

  test("any other cluster is global on a node without a region, also if neither has one", () => {
    const { region: _, ...node } = nodeFact();
    const tier = (slice: Origin) => tierOf(slice, node);
    assert.equal(tier({ cluster: "c2" }), "global");
    assert.equal(tier({ cluster: "c2", region: "eu-west" }), "global");
    assert.equal(tier({ cluster: "c1" }), "local");
  });
});

test("an origin that no tier matches belongs to the last tier", () => {
  const tiers = [
    { name: "first", matches: () => false },
    { name: "last", matches: () => false },
  ];
  assert.equal(tierIndex({ cluster: "c1" }, tiers), 1);
});

const NODE = nodeFact({ cluster: "c1", region: "eu-west" });

function slice(cluster: string, region?: string) {
  return sliceFact({ key: `demo/${cluster}`, cluster, ...(region && { region }) });
}

test("the tier of a cluster is that of its slices for imports without selectors", () => {
  const slices = [slice("c2", "eu-west"), slice("c3", "us-east"), slice("c4")];
  const tiers = memberTiers(new Set(["c1", "c2", "c3", "c4", "c5"]), slices, NODE);
  assert.deepEqual(Object.fromEntries(tiers), {
    c1: "local",
    c2: "regional",
    c3: "global",
    // Regions unknown.
    c4: "global",
    c5: "global",
  });
});

test("--cluster-regions takes precedence over slices, and needs none", () => {
  const node = {
    ...NODE,
    clusterRegions: new Map([
      ["c2", "us-east"],
      ["c5", "eu-west"],
    ]),
  };
  const tiers = memberTiers(new Set(["c2", "c5"]), [slice("c2", "eu-west")], node);
  assert.deepEqual(Object.fromEntries(tiers), { c2: "global", c5: "regional" });
});

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

const WEIGHTS = new Map([
  ["c2", 4],
  ["c2b", 6],
  ["c3", 5],
]);

test("one cluster alone, clusters without a weight, and no weights at all need no shares", () => {
  const [one, other] = [candidate("1r", 0), candidate("0r", 1)];
  assert.deepEqual(sharesOf([one, other], WEIGHTS), { chosen: [one] });
  assert.deepEqual(sharesOf([other], WEIGHTS), { chosen: [other] });
  assert.deepEqual(sharesOf([one, other], undefined), { chosen: [one, other] });
});
