import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ANY_RECORDS, exportRecord, servicePort } from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { ExportRecord } from "../model/facts.ts";
import { merge } from "./merge.ts";

/** Fields of the younger export that differ from the oldest one, and the resulting reasons. */
interface Case {
  readonly oldest?: Partial<ExportRecord>;
  readonly younger: Partial<ExportRecord>;
  readonly reasons: readonly string[];
}

const CLIENT_IP = { sessionAffinity: "ClientIP" } as const;

const CASES: Readonly<Record<string, Case>> = {
  "the same": { younger: {}, reasons: [] },
  "C08: one port more": {
    younger: { ports: [servicePort("http 80"), servicePort("more 81")] },
    reasons: ["PortConflict"],
  },
  "C09: another number": {
    younger: { ports: [servicePort("http 81")] },
    reasons: ["PortConflict"],
  },
  "another application protocol": {
    younger: { ports: [{ ...servicePort("http 80"), appProtocol: "h2c" }] },
    reasons: ["PortConflict"],
  },
  "the ports in another order": {
    oldest: { ports: [servicePort("a 80"), servicePort("b 81")] },
    younger: { ports: [servicePort("b 81"), servicePort("a 80")] },
    reasons: [],
  },
  "C13: headless": { younger: { headless: true }, reasons: ["TypeConflict"] },
  "other affinity": { younger: CLIENT_IP, reasons: ["SessionAffinityConflict"] },
  "other affinity with a timeout: one reason for one mistake": {
    younger: { ...CLIENT_IP, affinitySeconds: 10 },
    reasons: ["SessionAffinityConflict"],
  },
  "another timeout": {
    oldest: { ...CLIENT_IP, affinitySeconds: 10 },
    younger: { ...CLIENT_IP, affinitySeconds: 20 },
    reasons: ["SessionAffinityConfigConflict"],
  },
  "the default timeout, said and not said": {
    oldest: { ...CLIENT_IP, affinitySeconds: 10800 },
    younger: CLIENT_IP,
    reasons: [],
  },
  "other internal policy": {
    younger: { internalTrafficPolicy: "Local" },
    reasons: ["InternalTrafficPolicyConflict"],
  },
  "the default internal policy, said and not said": {
    younger: { internalTrafficPolicy: "Cluster" },
    reasons: [],
  },
  "other distribution": {
    younger: { trafficDistribution: "PreferSameNode" },
    reasons: ["TrafficDistributionConflict"],
  },
  "two names of one distribution": {
    oldest: { trafficDistribution: "PreferSameZone" },
    younger: { trafficDistribution: "PreferClose" },
    reasons: [],
  },
  "C16: other labels and annotations": {
    younger: { metadata: { labels: { a: "1" }, annotations: { b: "2" } } },
    reasons: ["LabelsConflict", "AnnotationsConflict"],
  },
  "the same labels in another order": {
    oldest: { metadata: { labels: { a: "1", b: "2" }, annotations: {} } },
    younger: { metadata: { labels: { b: "2", a: "1" }, annotations: {} } },
    reasons: [],
  },
  "a family of the VIPs that the younger lacks": {
    oldest: { families: ["IPv4", "IPv6"] },
    younger: { families: ["IPv4"] },
    reasons: ["IPFamilyConflict"],
  },
  "a family that only the younger has gets no VIP": {
    younger: { families: ["IPv6", "IPv4"] },
    reasons: [],
  },
  "no family in common": { younger: { families: ["IPv6"] }, reasons: ["IPFamilyConflict"] },
};

describe("a younger export with", () => {
  for (const [name, { oldest, younger, reasons }] of Object.entries(CASES)) {
    test(name, () => {
      const merged = merge([
        exportRecord({ ...younger, cluster: "a", exported: 2 }),
        exportRecord({ ...oldest, cluster: "z", exported: 1 }),
      ]);
      assert.deepEqual(
        merged?.conflicts.map(({ reason }) => reason),
        reasons,
      );
      for (const conflict of merged?.conflicts ?? []) {
        assert.equal(conflict.winner, "z");
        assert.deepEqual([conflict.disagree, conflict.of], [1, 2]);
      }
    });
  }
});

test("exports that agree with the oldest are not counted", () => {
  const exports = ["c1", "c2", "c3", "c4", "c5"].map((cluster, i) =>
    exportRecord({ cluster, exported: i, headless: cluster === "c2" || cluster === "c4" }),
  );
  assert.deepEqual(merge(exports)?.conflicts, [
    {
      reason: "TypeConflict",
      field: "type",
      winner: "c1",
      value: '"ClusterSetIP"',
      disagree: 2,
      of: 5,
    },
  ]);
});

test("a conflict has the oldest export as winner and at least one that disagrees; a single export has no conflict", () =>
  forAll([ANY_RECORDS], (records) => {
    const merged = merge(records);
    for (const { winner, disagree, of, value } of merged?.conflicts ?? []) {
      assert.equal(winner, merged?.contributors[0]);
      assert.equal(of, records.length);
      assert.ok(disagree > 0 && disagree < of);
      assert.ok(value.length < 100);
    }
    for (const record of records) assert.deepEqual(merge([record])?.conflicts, []);
  }));

test("the message of a condition is one printable line for any export", () => {
  const merged = merge([
    exportRecord({ trafficDistribution: `\u001b[31m\n${"x".repeat(10_000)}` }),
    exportRecord({ cluster: "c2", exported: 2000 }),
  ]);
  assert.match(merged?.conflicts[0]?.value ?? "", /^[\x20-\x7e]{1,90}$/);
});
