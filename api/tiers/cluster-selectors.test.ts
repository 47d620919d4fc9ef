import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ClusterSelector, Origin } from "./cluster-selectors.ts";
import { clustersOf, propertyOf } from "./cluster-selectors.ts";

/** Cluster c1 in eu-west, on a continent that it names. */
const IMPORTER: Origin = {
  cluster: "c1",
  region: "eu-west",
  properties: new Map([["continent", "europe"]]),
};

const SIBLING: Origin = { ...IMPORTER, cluster: "c2" };
const ABROAD: Origin = {
  cluster: "c3",
  region: "us-east",
  properties: new Map([
    ["continent", "america"],
    ["gpu", "big"],
  ]),
};
const SILENT: Origin = { cluster: "c4" };
const UNKNOWN: Origin = {};
const ALL = { importer: IMPORTER, sibling: SIBLING, abroad: ABROAD, silent: SILENT, UNKNOWN };

/** `key operator values`, as in `continent In europe,asia`. */
function selector(...requirements: readonly string[]): ClusterSelector {
  return requirements.map((text) => {
    const [key = "", operator, values] = text.split(" ");
    return { key, operator: operator as "In", values: values?.split(",") ?? [] };
  });
}

const SAME = "@SameAsImporter@";

describe("of five origins, the selector", () => {
  for (const [requirements, names] of [
    [["continent In europe"], ["importer", "sibling"]],
    [["continent In europe,america"], ["importer", "sibling", "abroad"]],
    [["continent In EUROPE"], []],
    [["continent NotIn europe"], ["abroad", "silent"]],
    [["continent Exists"], ["importer", "sibling", "abroad"]],
    [["continent DoesNotExist"], ["silent"]],
    [["continent Exists", "gpu Exists"], ["abroad"]],
    [["continent In europe", "gpu Exists"], []],

    [["cluster.clusterset.k8s.io In c3,c4"], ["abroad", "silent"]],
    [[`cluster.clusterset.k8s.io In ${SAME}`], ["importer"]],
    [[`cluster.clusterset.k8s.io NotIn ${SAME}`], ["sibling", "abroad", "silent"]],
    [["cluster.clusterset.k8s.io Exists"], ["importer", "sibling", "abroad", "silent"]],
    [["cluster.clusterset.k8s.io DoesNotExist"], []],
    [[`topology.kubernetes.io/region In ${SAME}`], ["importer", "sibling"]],
    [[`region.topology.k8s.io In ${SAME}`], ["importer", "sibling"]],
    [["region.topology.k8s.io DoesNotExist"], ["silent"]],
    [[`continent In ${SAME},america`], ["importer", "sibling", "abroad"]],
    [[`continent NotIn ${SAME}`], ["abroad", "silent"]],
    // The importer has no gpu: nobody is like it, and nobody is known to be unlike it.
    [[`gpu In ${SAME}`], []],
    [[`gpu In ${SAME},big`], []],
    [[`gpu NotIn ${SAME}`], []],
    [[`gpu NotIn ${SAME}`, "continent Exists"], []],
  ] as const) {
    test(`${requirements.join(" and ")} holds ${names.join(", ") || "none"}`, () => {
      const holds = clustersOf(selector(...requirements), IMPORTER);
      const held = Object.entries(ALL).filter(([, origin]) => holds(origin));
      const names = held.map(([name]) => name);
      assert.deepEqual(names, names);
    });
  }

  test("for the region of an importer without one matches no cluster, not even one without a region", () => {
    const holds = clustersOf(selector(`region.topology.k8s.io In ${SAME}`), SILENT);
    assert.deepEqual(Object.values(ALL).filter(holds), []);
  });
});

test("properties of a cluster cannot override its ID and region", () => {
  const liar: Origin = {
    cluster: "c9",
    properties: new Map([
      ["cluster.clusterset.k8s.io", "c1"],
      ["region.topology.k8s.io", "eu-west"],
      ["topology.kubernetes.io/region", "eu-west"],
    ]),
  };
  assert.equal(propertyOf(liar, "cluster.clusterset.k8s.io"), "c9");
  assert.equal(propertyOf(liar, "region.topology.k8s.io"), undefined);
  assert.equal(propertyOf(liar, "topology.kubernetes.io/region"), undefined);
});
