import assert from "node:assert/strict";
import { test } from "node:test";
import { regionProblems, regionsOf } from "./region-problems.ts";

test("Nodes with a region, and a cluster that publishes none or another one", () => {
  const FIX = "set ClusterProperty region.topology.k8s.io to";
  const problem = (reason: string, detail: string) => [
    { object: "Cluster c1", severity: "warning", reason, detail },
  ];
  assert.deepEqual(
    regionProblems("c1", undefined, ["eu-west"]),
    problem(
      "region-missing",
      `Nodes are in eu-west, the cluster publishes no region: ${FIX} eu-west, or join again with --region`,
    ),
  );
  assert.deepEqual(
    regionProblems("c1", "eu", ["eu-west", "us-east"]),
    problem(
      "region-differs",
      `Nodes are in eu-west, us-east, the cluster publishes eu: ${FIX} REGION, or join again with --region`,
    ),
  );
});

test("no problem: without regions, and if the published one is that of some Nodes", () => {
  assert.deepEqual(regionProblems("c1", undefined, []), []);
  assert.deepEqual(regionProblems("c1", "eu", []), []);
  assert.deepEqual(regionProblems("c1", "eu", ["eu"]), []);
  assert.deepEqual(regionProblems("c1", "us", ["eu", "us"]), []);
});

test("regions of nodes are those of labels, not of flags", () => {
  const node = (region: string | undefined, byFlag: readonly [string, string][] = []) => ({
    cluster: "c1",
    clusterRegions: new Map(byFlag),
    ...(region !== undefined && { region }),
  });
  assert.deepEqual(regionsOf([node("us"), node("eu"), node("us"), node(undefined)]), ["eu", "us"]);
  assert.deepEqual(regionsOf([node("eu", [["c1", "eu"]])]), []);
  assert.deepEqual(regionsOf([node("eu", [["c2", "eu"]])]), ["eu"]);
});
