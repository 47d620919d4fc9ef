import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import { nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { NodeFact, SliceFact } from "../model/facts.ts";
import { importerOf, originOf } from "./origin.ts";

/** The node is in cluster c1 and region eu-west unless a case says otherwise. */
interface Case {
  readonly what: string;
  readonly node?: Partial<NodeFact>;
  readonly slice: Partial<Pick<SliceFact, "cluster" | "region">>;
  readonly tier: "local" | "regional" | "global";
}

const CASES: readonly Case[] = [
  { what: "my cluster", slice: { cluster: "c1", region: "eu-west" }, tier: "local" },
  { what: "my cluster, without a region", slice: { cluster: "c1" }, tier: "local" },
  { what: "my cluster, from another region", slice: { cluster: "c1", region: "x" }, tier: "local" },
  { what: "another of my region", slice: { cluster: "c2", region: "eu-west" }, tier: "regional" },
  { what: "another region", slice: { cluster: "c2", region: "us-east" }, tier: "global" },
  { what: "another without a region", slice: { cluster: "c2" }, tier: "global" },
  { what: "an unknown origin", slice: {}, tier: "global" },
  { what: "an unknown origin of my region", slice: { region: "eu-west" }, tier: "global" },
  {
    what: "a cluster that the operator puts in my region, against its label",
    node: { clusterRegions: new Map([["c2", "eu-west"]]) },
    slice: { cluster: "c2", region: "us-east" },
    tier: "regional",
  },
  {
    what: "a cluster that the operator puts elsewhere, against its label",
    node: { clusterRegions: new Map([["c2", "us-east"]]) },
    slice: { cluster: "c2", region: "eu-west" },
    tier: "global",
  },
  {
    what: "a cluster that the operator puts in my region, without a label",
    node: { clusterRegions: new Map([["c2", "eu-west"]]) },
    slice: { cluster: "c2" },
    tier: "regional",
  },
  {
    what: "a cluster that the operator does not mention",
    node: { clusterRegions: new Map([["c3", "us-east"]]) },
    slice: { cluster: "c2", region: "eu-west" },
    tier: "regional",
  },
];

function tierOf(slice: Case["slice"], node: NodeFact): string | undefined {
  const tiers = tiersOf({}, importerOf(node));
  return tiers[tierIndex(originOf(sliceFact(slice), node), tiers)]?.name;
}

describe("the tier of", () => {
  for (const { what, node, slice, tier } of CASES) {
    test(`${what} is ${tier}`, () => {
      assert.equal(tierOf(slice, nodeFact(node)), tier);
    });
  }

  test("my region is regional, and nothing is local, on a node without a cluster id", () => {
    const { cluster: _, ...node } = nodeFact();
    const tier = (slice: Case["slice"]) => tierOf(slice, node);
    assert.equal(tier({ cluster: "c1", region: "eu-west" }), "regional");
    assert.equal(tier({ cluster: "c1" }), "global");
    assert.equal(tier({}), "global");
  });

  test("any other cluster is global on a node without a region, also if neither has one", () => {
    const { region: _, ...node } = nodeFact();
    const tier = (slice: Case["slice"]) => tierOf(slice, node);
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
