import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Fields } from "../../api/parse/fields.ts";
import { type ParseCases, testCases } from "../../test/stages/parse-cases.ts";
import { parseExport } from "./parse-export.ts";

function serviceExport(spec: Fields | undefined, metadata: Fields = {}): unknown {
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
    ...(spec && { spec }),
  };
}

const PLAIN = {
  key: "demo/serve",
  uid: "2d8e9c9c-0d3c-4a39-9b3a-000000000000",
  generation: 3,
  created: Date.UTC(2026, 0, 1),
  metadata: { labels: {}, annotations: {} },
  conditions: [],
};

describe("a ServiceExport", () => {
  const cases: ParseCases = {
    "without a spec carries nothing, least of all its own labels": [serviceExport(undefined), {}],
    "carries labels and annotations that it names, in order of their keys": [
      serviceExport({
        exportedLabels: { b: "", a: "1" },
        exportedAnnotations: { "example.com/note": "any\ntext \u{1f600}" },
      }),
      {
        metadata: {
          labels: { a: "1", b: "" },
          annotations: { "example.com/note": "any\ntext \u{1f600}" },
        },
      },
    ],
    "carries no key of Kubernetes, and none of ours": [
      serviceExport({
        exportedLabels: { "kubernetes.io/service-name": "x" },
        exportedAnnotations: {
          "kubectl.kubernetes.io/last-applied-configuration": "{}",
          "clusterset-proxy.io/exported-at": "1970-01-01T00:00:00Z",
        },
      }),
      {},
      "reserved-key spec.exportedLabels",
      "reserved-key spec.exportedAnnotations",
      "reserved-key spec.exportedAnnotations",
    ],
    "carries no half of a character": [
      serviceExport({ exportedAnnotations: { a: "\ud800" } }),
      {},
      "invalid-label spec.exportedAnnotations[a]",
    ],
    "carries none of a list": [
      serviceExport({ exportedLabels: ["a"] }),
      {},
      "invalid-object spec.exportedLabels",
    ],
    "of no generation is of the first": [
      serviceExport({}, { generation: undefined }),
      { generation: 0 },
    ],
    "that is being deleted is withdrawn, whoever else is waited for": [
      serviceExport({}, { deletionTimestamp: "2026-01-02T00:00:00Z", finalizers: ["a/b"] }),
      undefined,
    ],
    "of no uid is none": [serviceExport({}, { uid: "" }), undefined, "invalid-object metadata"],
    "of no age is none": [
      serviceExport({}, { creationTimestamp: undefined }),
      undefined,
      "invalid-object metadata",
    ],
    "of an age that is none is none": [
      serviceExport({}, { creationTimestamp: "yesterday" }),
      undefined,
      "invalid-object metadata.creationTimestamp",
    ],
  };
  testCases(
    cases,
    (object) => {
      const parsed = parseExport(object);
      assert.equal(parsed.key, "demo/serve");
      return parsed;
    },
    PLAIN,
  );

  test("with an invalid name has no key", () => {
    assert.equal(parseExport(serviceExport({}, { name: "a.b" })).key, undefined);
  });

  test("has its labels in the order of their keys", () => {
    const [one, other] = [
      { b: "1", a: "2" },
      { a: "2", b: "1" },
    ].map((exportedLabels) => JSON.stringify(parseExport(serviceExport({ exportedLabels })).fact));
    assert.equal(one, other);
  });
});
