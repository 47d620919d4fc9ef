import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ANY_RECORDS, exportRecord, KEY } from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { merge } from "../merge/merge.ts";
import { decodeRecord } from "../registry/decode-record.ts";
import { encodeRecord } from "../registry/encode.ts";
import type { ExportRecord } from "./facts.ts";
import { decodeExports, encodeExports } from "./known-exports.ts";

/** Records as they are read from registries. */
function read(records: readonly ExportRecord[]): ExportRecord[] {
  return records.flatMap((record) => {
    const registry = { cluster: record.cluster, namespace: `registry-${record.cluster}` };
    return decodeRecord(encodeRecord(record, registry.namespace), registry).fact ?? [];
  });
}

test("all that exports decide is the same after it was written on an import", () =>
  forAll([ANY_RECORDS, fc.constantFrom("cluster-p", undefined)], (any, decider) => {
    const records = read(any);
    const known = decodeExports(encodeExports(records), KEY);
    assert.deepEqual(known, records);
    assert.deepEqual(merge(known, decider), merge(records, decider));
  }));

test("no exports are not written, and exports beyond 32,768 characters are left out", () => {
  assert.equal(encodeExports([]), undefined);
  const note = "x".repeat(20_000);
  const large = ["c1", "c2", "c3"].map((cluster, i) =>
    exportRecord({
      cluster,
      metadata: { labels: {}, annotations: i === 2 ? {} : { "example.com/note": note } },
    }),
  );
  const text = encodeExports(large);
  assert.ok(text !== undefined && text.length <= 32_768);
  const known = decodeExports(text, KEY).map(({ cluster }) => cluster);
  assert.deepEqual(known, ["c1", "c3"]);
});

test("what a user writes there gives valid exports or none, of one per cluster", async () => {
  const valid = { cluster: "c2", exported: 1, spec: { type: "Headless", ipFamilies: ["IPv4"] } };
  const count = (...list: unknown[]) => decodeExports(JSON.stringify(list), KEY).length;
  assert.equal(count(valid, valid), 1);
  for (const wrong of [
    { cluster: "-" },
    { exported: "1" },
    { exported: 1.5 },
    { spec: { type: "ExternalName", ipFamilies: ["IPv4"] } },
    { spec: { type: "Headless", ipFamilies: [] } },
    { spec: [] },
  ]) {
    assert.equal(count({ ...valid, ...wrong }), 0, JSON.stringify(wrong));
  }
  for (const text of ["", "{}", "null", "[[[[[[[]]]]]]]", '[{"a":1,"a":1}]']) {
    assert.deepEqual(decodeExports(text, KEY), []);
  }
  await forAll([fc.jsonValue()], (value) => void decodeExports(JSON.stringify([value]), KEY));
});
