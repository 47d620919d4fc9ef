import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { memberTiers } from "./member-tiers.ts";

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
