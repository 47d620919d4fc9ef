import assert from "node:assert/strict";
import { test } from "node:test";
import { topologyOf } from "../lab/topology.ts";
import { CUTS, type Cut, type CutKind, rulesOf } from "./cut.ts";
import { labSpecOf, plansOf } from "./spec.ts";

/** The router's links: cluster-1 has node0 (its control plane) to node2, cluster-2 node3 to node5. */
const TOPOLOGY = topologyOf(labSpecOf(plansOf({ clusters: 3, nodes: 2 })));

/** What a cut drops, by its kind: of `pods` nothing of control planes, of `api` all that is theirs. */
const DROPPED: Readonly<Record<CutKind, readonly string[]>> = {
  all: [
    'iifname { "node0", "node1", "node2" } oifname { "node3", "node4", "node5" } drop',
    'iifname { "node3", "node4", "node5" } oifname { "node0", "node1", "node2" } drop',
  ],
  pods: [
    'iifname { "node1", "node2" } oifname { "node4", "node5" } drop',
    'iifname { "node4", "node5" } oifname { "node1", "node2" } drop',
  ],
  api: [
    'iifname { "node0", "node1", "node2" } oifname { "node3" } drop',
    'iifname { "node3" } oifname { "node0", "node1", "node2" } drop',
    'iifname { "node0" } oifname { "node4", "node5" } drop',
    'iifname { "node4", "node5" } oifname { "node0" } drop',
  ],
};

for (const kind of CUTS) {
  test(`A cut of kind ${kind} between two clusters drops their packets on all links of that kind, in both directions`, () => {
    const cut: Cut = { clusters: ["cluster-1", "cluster-2"], kind };
    const lines = rulesOf(TOPOLOGY, [cut]).split("\n");
    const dropped = lines.filter((line) => line.endsWith(" drop")).map((line) => line.trim());
    assert.deepEqual(dropped, DROPPED[kind]);
  });
}

test("Without cuts nothing is dropped", () => {
  assert.doesNotMatch(rulesOf(TOPOLOGY, []), /drop/);
});

test("A cut of a missing cluster is rejected", () => {
  const cut: Cut = { clusters: ["cluster-1", "cluster-4"], kind: "all" };
  assert.throws(() => rulesOf(TOPOLOGY, [cut]), /cluster-4/);
});
