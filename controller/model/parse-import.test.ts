import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ANNOTATION_AUTHORED, ANNOTATION_IMPORT, ANNOTATION_PREVIOUS_IPS } from "../../api/keys.ts";
import type { Fields } from "../../api/parse/fields.ts";
import { ANY_RECORDS, exportRecord, KEY } from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { merge } from "../merge/merge.ts";
import { decodeRecord } from "../registry/decode-record.ts";
import { encodeRecord } from "../registry/encode.ts";
import { type Claim, type Condition, conditionsOf } from "./condition.ts";
import type { ExportRecord } from "./facts.ts";
import { decodeExports, encodeExports } from "./known-exports.ts";
import { parseExport } from "./parse-export.ts";
import { parseImport } from "./parse-import.ts";

const READY = {
  type: "Ready",
  status: "True",
  reason: "Ready",
  message: "241.0.0.1",
  lastTransitionTime: "2026-11-21T10:00:00Z",
  observedGeneration: 3,
};

const IMPORT = {
  metadata: {
    namespace: "demo",
    name: "serve",
    generation: 3,
    annotations: { [ANNOTATION_IMPORT]: "adopted", [ANNOTATION_PREVIOUS_IPS]: "242.0.0.1" },
  },
  spec: {
    type: "ClusterSetIP",
    ips: ["241.0.0.1"],
    ipFamilies: ["IPv4"],
    ports: [{ port: 80, appProtocol: "http" }],
  },
  status: { clusters: [{ cluster: "c1" }, { cluster: "c2" }], conditions: [READY] },
};

test("parses all fields of an import that the controller uses", () => {
  assert.deepEqual(parseImport(IMPORT), {
    object: "ServiceImport demo/serve",
    key: "demo/serve",
    problems: [],
    fact: {
      key: "demo/serve",
      generation: 3,
      origin: "adopted",
      headless: false,
      ips: ["241.0.0.1"],
      previousIps: ["242.0.0.1"],
      families: ["IPv4"],
      ports: [{ name: "", protocol: "TCP", port: 80, appProtocol: "http" }],
      tiers: {},
      clusters: ["c1", "c2"],
      conditions: [READY],
    },
  });
});

test("a minimal user-managed import has no origin, and no previous VIPs", () => {
  const annotations = { [ANNOTATION_PREVIOUS_IPS]: "242.0.0.1" };
  const { fact } = parseImport({
    metadata: { namespace: "demo", name: "serve", annotations },
    spec: { type: "ClusterSetIP", ports: [{ port: 80 }] },
  });
  assert.deepEqual(fact, {
    key: "demo/serve",
    generation: 0,
    authored: '{"type":"ClusterSetIP","ports":[{"port":80}]}',
    headless: false,
    ips: [],
    previousIps: [],
    families: [],
    ports: [{ name: "", protocol: "TCP", port: 80 }],
    tiers: {},
    clusters: [],
    conditions: [],
  });
});

test("the user's spec is read from the annotation, unless it is too large", () => {
  const adopted = (text: unknown) => {
    const annotations = { [ANNOTATION_IMPORT]: "adopted", [ANNOTATION_AUTHORED]: text };
    const metadata = { ...IMPORT.metadata, annotations };
    return parseImport({ ...IMPORT, metadata }).fact?.authored;
  };
  assert.equal(adopted("{}"), "{}");
  assert.equal(adopted(7), undefined);
  assert.equal(adopted("x".repeat(70_000)), undefined);
});

test("an invalid explicit address stays among the VIPs", () => {
  const odd = { ...IMPORT, spec: { ...IMPORT.spec, ips: ["x", 7, "1.2.3.4"], ipFamilies: ["X"] } };
  assert.deepEqual(parseImport(odd).fact?.ips, ["x", "1.2.3.4"]);
  assert.deepEqual(parseImport(odd).fact?.families, []);
});

test("invalid conditions of imports and exports are ignored", () => {
  const conditions = [
    { ...READY, status: "Maybe" },
    { ...READY, lastTransitionTime: "yesterday" },
    { ...READY, type: 1 },
    null,
    { ...READY, type: "Other", observedGeneration: -1 },
  ];
  const kept = [{ ...READY, type: "Other", observedGeneration: 0 }];
  assert.deepEqual(parseImport({ ...IMPORT, status: { conditions } }).fact?.conditions, kept);
  const exported = {
    metadata: { ...IMPORT.metadata, uid: "u", creationTimestamp: "2026-11-21T10:00:00Z" },
    status: { conditions },
  };
  assert.deepEqual(parseExport(exported).fact?.conditions, kept);
});

test("parsing any import neither throws nor returns invalid fields", async () => {
  const anything = fc.anything({ withNullPrototype: true });
  const spec = fc.record({ type: fc.constant("Headless"), ports: anything, ips: anything });
  const status = fc.record({ clusters: fc.array(anything), conditions: fc.array(anything) });
  await forAll([fc.record({ spec, status })], (object) => {
    const { fact } = parseImport({ ...object, metadata: { ...IMPORT.metadata, annotations: 7 } });
    assert.equal(fact?.origin, undefined);
    assert.ok(fact?.ips.every((ip) => typeof ip === "string"));
  });
});

test("an import of an unknown type gives no fact", () => {
  const { fact, problems } = parseImport({ ...IMPORT, spec: { type: "Other" } });
  assert.deepEqual([fact, problems.map(({ reason }) => reason)], [undefined, ["invalid-object"]]);
});

function serviceExport({ spec, ...metadata }: Fields): unknown {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: {
      namespace: "demo",
      name: "serve",
      uid: "2d8e9c9c-0d3c-4a39-9b3a-000000000000",
      generation: 3,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: { own: "label" },
      annotations: { own: "annotation" },
      ...metadata,
    },
    ...(spec !== undefined && { spec }),
  };
}

const PLAIN_EXPORT = {
  key: "demo/serve",
  uid: "2d8e9c9c-0d3c-4a39-9b3a-000000000000",
  generation: 3,
  created: Date.UTC(2026, 0, 1),
  metadata: { labels: {}, annotations: {} },
  conditions: [],
};

const RESERVED = {
  exportedLabels: { "kubernetes.io/service-name": "x" },
  exportedAnnotations: {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "clusterset-proxy.io/exported-at": "1970-01-01T00:00:00Z",
  },
};
const BAD_LABELS = "invalid-object spec.exportedLabels";
const BAD_AGE = "invalid-object metadata.creationTimestamp";
const NOTE = { "example.com/note": "any\ntext \u{1f600}" };

describe("a ServiceExport", () => {
  const cases: ParseCases<Fields> = {
    "without a spec carries nothing, least of all its own labels": [{}, {}],
    "carries labels and annotations that it names, in order of their keys": [
      { spec: { exportedLabels: { b: "", a: "1" }, exportedAnnotations: NOTE } },
      { metadata: { labels: { a: "1", b: "" }, annotations: NOTE } },
    ],
    "carries no key of Kubernetes, and none of ours": [
      { spec: RESERVED },
      {},
      "reserved-key spec.exportedLabels",
      "reserved-key spec.exportedAnnotations",
      "reserved-key spec.exportedAnnotations",
    ],
    "carries no half of a character": [
      { spec: { exportedAnnotations: { a: "\ud800" } } },
      {},
      "invalid-label spec.exportedAnnotations[a]",
    ],
    "carries none of a list": [{ spec: { exportedLabels: ["a"] } }, {}, BAD_LABELS],
    "of no generation is of the first": [{ generation: undefined }, { generation: 0 }],
    "that is being deleted is withdrawn, whoever else is waited for": [
      { deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: ["a/b"] },
      undefined,
    ],
    "of no uid is none": [{ uid: "" }, undefined, "invalid-object metadata"],
    "of no age is none": [{ creationTimestamp: undefined }, undefined, "invalid-object metadata"],
    "of an age that is none is none": [{ creationTimestamp: "yesterday" }, undefined, BAD_AGE],
  };
  testCases(
    cases,
    (change) => {
      const parsed = parseExport(serviceExport(change));
      assert.equal(parsed.key, "demo/serve");
      return parsed;
    },
    PLAIN_EXPORT,
  );

  test("with an invalid name has no key", () => {
    assert.equal(parseExport(serviceExport({ name: "a.b" })).key, undefined);
  });

  test("has its labels in the order of their keys", () => {
    const fact = (exportedLabels: object) =>
      JSON.stringify(parseExport(serviceExport({ spec: { exportedLabels } })).fact);
    assert.equal(fact({ b: "1", a: "2" }), fact({ a: "2", b: "1" }));
  });
});

const CLAIM: Claim = { type: "Ready", status: "True", reason: "Ready", message: "so" };
const SEEN_AT = "2020-01-01T00:00:00Z";
const SEEN: Condition = { ...CLAIM, lastTransitionTime: SEEN_AT, observedGeneration: 1 };
const NOW = Date.UTC(2026, 10, 21, 10, 0, 0, 999);

test("the transition time changes only with the status", () => {
  const claim: Claim = { ...CLAIM, reason: "Exported", message: "other" };
  assert.deepEqual(conditionsOf([claim], [SEEN], 2, NOW), [
    { ...claim, lastTransitionTime: SEEN.lastTransitionTime, observedGeneration: 2 },
  ]);
});

test("a new or changed status has the present time", () => {
  for (const seen of [[], [{ ...SEEN, status: "False" }], [{ ...SEEN, type: "Valid" }]] as const) {
    const [condition] = conditionsOf([CLAIM], seen, 1, NOW);
    assert.equal(condition?.lastTransitionTime, "2026-11-21T10:00:00Z");
  }
});

test("equal claims give byte-equal conditions", () => {
  assert.equal(JSON.stringify(conditionsOf([CLAIM], [SEEN], 1, NOW)), JSON.stringify([SEEN]));
});

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
