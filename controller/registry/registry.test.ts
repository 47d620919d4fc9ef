import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAMILIES } from "../../api/address.ts";
import { isLabelName, isSubdomainName, objectKey } from "../../api/names.ts";
import { PROTOCOLS } from "../../api/protocol.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { endpointGroups } from "../export/endpoint-groups.ts";
import { exportOf } from "../export/export-of.ts";
import { packSlices } from "../export/pack-slices.ts";
import type { ClusterFact } from "../model/facts.ts";
import { parseExport } from "../model/parse-export.ts";
import { parseService } from "../model/parse-service.ts";
import { parseServiceSlice } from "../model/parse-service-slice.ts";
import { decodeCluster } from "./decode-cluster.ts";
import { decodeRecord, decodeSlice } from "./decode-record.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "./encode.ts";
import { registryNamespace, sliceName } from "./names.ts";
import { publishable } from "./publication-limits.ts";

// Publishes any Service, and reads the result as another cluster does.

const CLUSTER = "c1";
const NAMESPACE = registryNamespace(CLUSTER);
const REGISTRY = { cluster: CLUSTER, namespace: NAMESPACE, clusterSetCidrs: [], endpointCidrs: [] };

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const QUALIFIED = ["kubernetes.io/h2c", "example.com/x", "A_b.c", "1", "app.kubernetes.io/name"];
const qualified = fc.oneof(fc.constantFrom("http", ...QUALIFIED), label);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const ports = fc.array(
  fc.record({
    name: fc.oneof(fc.constant(""), label),
    protocol: optional(fc.constantFrom(...PROTOCOLS)),
    port: fc.integer({ min: 1, max: 65_535 }),
    appProtocol: optional(qualified),
  }),
  { maxLength: 5 },
);
const flag = optional(fc.boolean());
const endpoint = fc.record({
  addresses: fc.tuple(fc.nat(255).map((n) => `10.1.2.${n}`)),
  conditions: optional(fc.record({ ready: flag, serving: flag, terminating: flag })),
  hostname: optional(label),
  nodeName: optional(label),
  zone: optional(label),
});
const SPAN = { min: new Date("2020-01-01"), max: new Date("9999-01-01") };
const TRAFFIC = [undefined, "PreferClose", "PreferSameNode", "example.com/x"];
const world = fc.record({
  names: fc.tuple(label, label),
  created: fc.date({ ...SPAN, noInvalidDate: true }),
  exportedLabels: fc.dictionary(qualified, fc.oneof(fc.constant(""), label), { maxKeys: 70 }),
  exportedAnnotations: fc.dictionary(qualified, fc.string({ unit: "binary" }), { maxKeys: 70 }),
  service: fc.record({
    type: fc.constantFrom("ClusterIP", "NodePort", "LoadBalancer"),
    clusterIP: fc.constantFrom("None", "10.96.0.1"),
    ipFamilies: fc.shuffledSubarray([...FAMILIES], { minLength: 1 }),
    ports,
    sessionAffinity: fc.constantFrom(undefined, "None", "ClientIP"),
    sessionAffinityConfig: optional(
      fc.record({ clientIP: fc.record({ timeoutSeconds: fc.integer({ min: 1, max: 86_400 }) }) }),
    ),
    internalTrafficPolicy: fc.constantFrom(undefined, "Cluster", "Local"),
    trafficDistribution: fc.constantFrom(...TRAFFIC),
  }),
  slices: fc.array(fc.record({ ports, endpoints: fc.array(endpoint, { maxLength: 200 }) }), {
    maxLength: 3,
  }),
});

function accepted<T>(fact: T | undefined): T {
  assert.ok(fact !== undefined);
  return fact;
}

/** The object as an API server stores and returns it. */
function stored(manifest: unknown): unknown {
  return JSON.parse(JSON.stringify(manifest));
}

test("decoding a record and its slices gives what was encoded", () =>
  forMany(100, [world], (w) => {
    const [namespace, name] = w.names;
    const metadata = { namespace, name, uid: "u1", creationTimestamp: w.created.toISOString() };
    const { exportedLabels, exportedAnnotations } = w;
    const exported = exportOf({
      cluster: CLUSTER,
      export: accepted(
        parseExport({ metadata, spec: { exportedLabels, exportedAnnotations } }).fact,
      ),
      service: accepted(parseService({ metadata, spec: w.service }).fact),
      slices: w.slices.map((slice, i) => {
        const labels = { "kubernetes.io/service-name": name };
        const metadata = { namespace, name: `s${i}`, labels };
        return accepted(parseServiceSlice({ metadata, addressType: "IPv4", ...slice }).fact);
      }),
    });
    assert.ok(exported.valid === "Valid");
    const { record, endpoints } = exported;
    const read = decodeRecord(stored(encodeRecord(record, NAMESPACE)), REGISTRY);
    assert.deepEqual(read.problems, []);
    assert.deepEqual(read.fact, record);
    // An API server with CRDs of mcs-api v0.3 removes the field.
    const { spec, ...rest } = encodeRecord(record, NAMESPACE);
    const pruned = { ...rest, spec: { ...(spec as object), ipFamilies: undefined } };
    assert.deepEqual(decodeRecord(stored(pruned), REGISTRY).fact?.families, record.families);
    const slices = packSlices([], endpoints, {
      service: record.key,
      families: record.families,
      keyOf: (family, index) => objectKey(NAMESPACE, sliceName(record.key, family, index)),
    });
    const again = slices.map((slice) => {
      const { fact, problems } = decodeSlice(stored(encodeSlice(slice, CLUSTER)), REGISTRY);
      assert.deepEqual(problems, []);
      assert.deepEqual(fact, slice);
      return accepted(fact);
    });
    // A second reconcile writes nothing.
    assert.deepEqual(endpointGroups({ ...record, headless: true }, again).length, endpoints.length);
    for (const { metadata: written } of [
      encodeRecord(record, NAMESPACE),
      ...slices.map((s) => encodeSlice(s, CLUSTER)),
    ]) {
      assert.ok(isSubdomainName(written.name));
      for (const value of Object.values(written.labels ?? {})) assert.ok(value.length <= 63);
    }
  }));

test("decoding a cluster's Lease gives what was encoded", async () => {
  const property = fc.oneof(label, fc.constant("a.example"));
  const text = fc.string({ unit: "binary", maxLength: 300 });
  const exception = fc.array(label, { minLength: 1, maxLength: 2 }).map((one) => one.join("/"));
  const exceptions = fc.array(exception, { maxLength: 9 }).map((all) => new Set(all));
  const clusters: fc.Arbitrary<ClusterFact> = fc.record(
    {
      id: fc.oneof(label, fc.constant("eu.c1")),
      uid: fc.uuid(),
      clusterSet: label,
      region: label,
      properties: fc.dictionary(property, text, { maxKeys: 80 }).map(publishable),
      leaseSeconds: fc.integer({ min: 1, max: 3600 }),
      renewal: fc.constant("2026-01-01T00:00:00.000000Z"),
      version: fc.constantFrom("0.1.0", "2.0.0-rc.1"),
      accepts: fc.dictionary(label, fc.constantFrom("10.1.0.0/16", "10.1.0.0/16,fd00:1::/48"), {
        noNullPrototype: true,
      }),
      completeExcept: fc.option(exceptions, { nil: undefined }),
    },
    {
      requiredKeys: ["id", "uid", "properties", "leaseSeconds", "renewal", "completeExcept"],
      noNullPrototype: true,
    },
  );
  await forMany(100, [clusters], (cluster) => {
    const namespace = registryNamespace(cluster.id);
    assert.ok(isLabelName(namespace));
    const registry = { cluster: cluster.id, namespace };
    const read = decodeCluster(stored(encodeCluster(cluster, namespace)), registry);
    assert.deepEqual(read.problems, []);
    assert.deepEqual(read.fact, cluster);
  });
});
