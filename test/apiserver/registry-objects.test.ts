import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FAMILIES } from "../../api/address.ts";
import { objectKey } from "../../api/names.ts";
import type { ClusterFact, ExportRecord, SliceFact } from "../../controller/model/facts.ts";
import type { Manifest } from "../../controller/model/manifest.ts";
import { decodeCluster } from "../../controller/registry/decode-cluster.ts";
import { decodeRecord, decodeSlice } from "../../controller/registry/decode-record.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { registryNamespace, sliceName } from "../../controller/registry/names.ts";
import { exportRecord } from "../generators/export-records.ts";
import { importObject } from "../generators/objects.ts";
import type { ApiObject } from "./api-client.ts";
import { ControlPlane } from "./control-plane.ts";
import { crds } from "./crds.ts";

// What the controller publishes, as a real API server takes, stores and returns it.

const CLUSTER = `${"a".repeat(31)}.${"b".repeat(31)}`;
const NAMESPACE = registryNamespace(CLUSTER);
const REGISTRY = { cluster: CLUSTER, namespace: NAMESPACE, clusterSetCidrs: [], endpointCidrs: [] };
const HTTP = { name: "http", port: 80 };
const LONG = "s".repeat(63);
const PLAIN = exportRecord({
  ...{ cluster: CLUSTER, key: "demo/serve", exported: 1_767_225_600_000, ports: [] },
});
const FULL: ExportRecord = {
  ...PLAIN,
  key: `${LONG}/${LONG}`,
  metadata: {
    labels: { "app.kubernetes.io/name": "serve", empty: "" },
    // The most that JSON makes of what may be exported.
    annotations: { a: "\u0001".repeat(16_000), b: "\u{1f600}\n".repeat(5000) },
  },
  ports: [
    { name: "", protocol: "UDP", port: 53 },
    { name: "h2c", protocol: "TCP", port: 53, appProtocol: "kubernetes.io/h2c" },
  ],
  families: ["IPv6", "IPv4"],
  sessionAffinity: "ClientIP",
  affinitySeconds: 86_400,
  internalTrafficPolicy: "Local",
  trafficDistribution: "PreferSameNode",
};

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start({});
  await plane.installCrds();
  await plane.admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
});
after(() => plane.remove());

/** What the API server returns for an object once it is applied; and that applying it again changes nothing. */
async function stored(manifest: Manifest): Promise<ApiObject> {
  const first = await plane.admin.apply(manifest);
  const again = await plane.admin.apply(manifest);
  assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion);
  return plane.admin.get(manifest);
}

for (const [name, record] of [
  ["that says little", PLAIN],
  ["that is headless", { ...PLAIN, key: "demo/headless", headless: true }],
  ["that says all it may, under the longest names", FULL],
] as const) {
  test(`the API server accepts a record ${name}, and it is read as written`, async () => {
    const object = await stored(encodeRecord(record, NAMESPACE));
    const { fact, problems } = decodeRecord(object, REGISTRY);
    assert.deepEqual(problems, []);
    assert.deepEqual(fact, record);
  });
}

for (const family of FAMILIES) {
  test(`the API server accepts a full slice of ${family}, and it is read as written`, async () => {
    const prefix = family === "IPv4" ? "10.1.2." : "fd00::1:";
    const endpoints = Array.from({ length: 100 }, (_, i) => ({
      ...{ address: `${prefix}${i + 1}`, hostname: `h${i}`, nodeName: `n${i}.example` },
      ...{ ready: i % 2 === 0, serving: i % 3 !== 0, terminating: i % 5 === 0, zone: `z_${i}` },
    }));
    const key = objectKey(NAMESPACE, sliceName(FULL.key, family, 399));
    const slice: SliceFact = { key, service: FULL.key, family, ports: FULL.ports, endpoints };
    const { fact, problems } = decodeSlice(await stored(encodeSlice(slice, CLUSTER)), REGISTRY);
    assert.deepEqual(problems, []);
    assert.deepEqual(fact, slice);
  });
}

test("the API server accepts a cluster's Lease, and it is read as written", async () => {
  const cluster: ClusterFact = {
    id: CLUSTER,
    uid: "2d8e9c9c-0d3c-4a39-9b3a-3b8f4f1c2a10",
    clusterSet: "prod",
    region: "eu-west",
    properties: { "continent.example.com": "europe" },
    leaseSeconds: 30,
    renewal: "2026-01-01T00:00:00.123456Z",
    version: "0.1.0",
    completeExcept: new Set<string>(),
  };
  const { fact, problems } = decodeCluster(
    await stored(encodeCluster(cluster, NAMESPACE)),
    REGISTRY,
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(fact, cluster);
});

// What deploy/crds accepts.

test("An import is the same in both versions, with every field of mcs-api v0.5.2", async () => {
  const spec = {
    ipFamilies: ["IPv4"],
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    internalTrafficPolicy: "Local",
    trafficDistribution: "PreferSameZone",
  };
  const ports = [{ name: "http", protocol: "TCP", appProtocol: "http", port: 80 }];
  const present = {
    ...{ apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" },
    metadata: { namespace: "default", name: "web" },
  };
  const old = { ...present, apiVersion: "multicluster.x-k8s.io/v1alpha1" };
  await plane.admin.create(importObject("default/web", ["10.99.0.1"], ports, spec));
  const expected = { type: "ClusterSetIP", ips: ["10.99.0.1"], ports, ...spec };
  assert.deepEqual((await plane.admin.get(present)).spec, expected);
  assert.deepEqual((await plane.admin.get(old)).spec, expected);

  const status = { clusters: [{ cluster: "c1" }], endpointSliceObjects: "Present" };
  await plane.admin.patch(old, { status }, "status");
  assert.deepEqual((await plane.admin.get(present)).status, status);
});

test("An export and a cluster's properties are kept in both versions", async () => {
  const spec = { exportedLabels: { a: "1" }, exportedAnnotations: { b: "2" } };
  const metadata = { namespace: "default", name: "web" };
  const kind = "ServiceExport";
  await plane.admin.create({ apiVersion: "multicluster.x-k8s.io/v1alpha1", kind, metadata, spec });
  const found = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind, metadata };
  assert.deepEqual((await plane.admin.get(found)).spec, spec);

  const name = "cluster.clusterset.k8s.io";
  const property = { kind: "ClusterProperty", metadata: { name } };
  const value = { value: "c1" };
  await plane.admin.create({ ...property, apiVersion: "about.k8s.io/v1beta1", spec: value });
  const read = await plane.admin.get({ ...property, apiVersion: "about.k8s.io/v1alpha1" });
  assert.deepEqual(read.spec, value);
});

test("An import that violates the schema is rejected", async () => {
  const refused = [
    importObject("default/a", ["10.99.0.1"], [HTTP], { type: "Mesh" }),
    importObject("default/b", ["10.99.0.1", "fd00::1", "10.99.0.2"], [HTTP]),
    importObject("default/c", ["10.99.0.1"], [{ name: "http" }]),
  ];
  for (const object of refused) await assert.rejects(plane.admin.create(object), { status: 422 });
});

test("The versions of a CRD have one schema", () => {
  for (const { spec, metadata } of crds()) {
    const [first, ...others] = spec.versions.map(({ schema }) => schema);
    assert.equal(others.length, 1, metadata.name);
    for (const other of others) assert.deepEqual(other, first, metadata.name);
  }
});
