import assert from "node:assert/strict";
import { test } from "node:test";
import { topologyOf } from "../lab/topology.ts";
import { type Cut, type CutKind, rulesOf } from "./cut.ts";
import { labSpecOf, plansOf } from "./spec.ts";

/** The router's links: cluster-1 has node0 (its control plane) to node2, cluster-2 node3 to node5. */
const TOPOLOGY = topologyOf(labSpecOf(plansOf({ clusters: 3, nodes: 2 })));

function droppedBy(kind: CutKind): string[] {
  const cut: Cut = { clusters: ["cluster-1", "cluster-2"], kind };
  const lines = rulesOf(TOPOLOGY, [cut]).split("\n");
  return lines.filter((line) => line.endsWith(" drop")).map((line) => line.trim());
}

test("A cut between two clusters covers all links of both, in both directions", () => {
  assert.deepEqual(droppedBy("all"), [
    'iifname { "node0", "node1", "node2" } oifname { "node3", "node4", "node5" } drop',
    'iifname { "node3", "node4", "node5" } oifname { "node0", "node1", "node2" } drop',
  ]);
});

test("A cut between pods does not affect traffic of control planes", () => {
  assert.deepEqual(droppedBy("pods"), [
    'iifname { "node1", "node2" } oifname { "node4", "node5" } drop',
    'iifname { "node4", "node5" } oifname { "node1", "node2" } drop',
  ]);
});

test("A cut of the API covers all traffic of control planes", () => {
  assert.deepEqual(droppedBy("api"), [
    'iifname { "node0", "node1", "node2" } oifname { "node3" } drop',
    'iifname { "node3" } oifname { "node0", "node1", "node2" } drop',
    'iifname { "node0" } oifname { "node4", "node5" } drop',
    'iifname { "node4", "node5" } oifname { "node0" } drop',
  ]);
});

test("Without cuts nothing is dropped", () => {
  assert.doesNotMatch(rulesOf(TOPOLOGY, []), /drop/);
});

test("A cut of a missing cluster is rejected", () => {
  const cut: Cut = { clusters: ["cluster-1", "cluster-4"], kind: "all" };
  assert.throws(() => rulesOf(TOPOLOGY, [cut]), /cluster-4/);
});
