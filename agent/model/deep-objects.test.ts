import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ANNOTATION_ON_ENDPOINT_DEATH } from "../../api/keys.ts";
import { serviceImport } from "../../test/generators/hostile-imports.ts";
import { clusterProperty, nodeObject } from "../../test/generators/hostile-nodes.ts";
import { endpointSlice } from "../../test/generators/hostile-slices.ts";
import { parseClusterProperty } from "./parse-cluster-property.ts";
import { parseImport } from "./parse-import.ts";
import { parseNode } from "./parse-node.ts";
import { parseSlice } from "./parse-slice.ts";

/** Far more levels than a recursive reader has stack for; JSON.parse takes them, so an API server may send them. */
const LEVELS = 50_000;
const DEEP: readonly unknown[] = [
  JSON.parse("[".repeat(LEVELS) + "]".repeat(LEVELS)),
  JSON.parse(`${'{"values":'.repeat(LEVELS)}1${"}".repeat(LEVELS)}`),
];
const SELECTOR = {
  matchLabels: { a: "b" },
  matchExpressions: [{ key: "a", operator: "In", values: ["b"] }],
};
const annotations = { [ANNOTATION_ON_ENDPOINT_DEATH]: "reset" };
const OBJECTS = [
  {
    kind: "ServiceImport",
    parse: (object: unknown) => parseImport(object),
    object: serviceImport(
      {
        ports: [{ name: "http", port: 80, protocol: "TCP", appProtocol: "http" }],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } },
        internalTrafficPolicy: "Local",
        trafficDistribution: "PreferClose",
        clusterSelectors: [{ propertySelector: SELECTOR }],
      },
      { creationTimestamp: "2026-01-01T00:00:00Z", annotations },
    ),
  },
  {
    kind: "EndpointSlice",
    parse: (object: unknown) => parseSlice(object, []),
    object: endpointSlice(
      {
        endpoints: [
          {
            addresses: ["10.0.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: "n1",
            zone: "z1",
            hints: { forZones: [{ name: "z1" }] },
          },
        ],
      },
      {},
      { annotations },
    ),
  },
  { kind: "Node", parse: parseNode, object: nodeObject() },
  {
    kind: "ClusterProperty",
    parse: parseClusterProperty,
    object: clusterProperty("cluster", "c1"),
  },
];

/** The object once for each of its fields, at any level, with `value` in its place. */
function* withEach(object: unknown, value: unknown): Generator<unknown> {
  yield value;
  if (Array.isArray(object)) {
    for (const one of withEach(object[0], value)) yield [one];
  } else if (typeof object === "object" && object !== null) {
    for (const [name, field] of Object.entries(object)) {
      for (const one of withEach(field, value)) yield { ...object, [name]: one };
    }
  }
}

describe("a field with fifty thousand levels", () => {
  for (const { kind, parse, object } of OBJECTS) {
    test(`does no harm, whichever field of a ${kind} it is`, () => {
      let seen = 0;
      for (const value of DEEP) {
        for (const hostile of withEach(object, value)) {
          const { problems } = parse(hostile);
          seen += problems.length;
          for (const problem of problems) assert.ok(problem.value.length <= 83);
        }
      }
      assert.ok(seen > 0);
    });
  }
});
