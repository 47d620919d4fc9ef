import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { objectKey } from "../../api/names.ts";
import type {
  ClusterFact,
  EndpointFact,
  ExportRecord,
  SliceFact,
} from "../../controller/model/facts.ts";
import type { Manifest } from "../../controller/model/manifest.ts";
import { decodeCluster } from "../../controller/registry/decode-cluster.ts";
import { decodeRecord } from "../../controller/registry/decode-record.ts";
import { decodeSlice } from "../../controller/registry/decode-slice.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "../../controller/registry/encode.ts";
import { registryNamespace, sliceName } from "../../controller/registry/names.ts";
import type { ApiObject } from "./api-client.ts";
import { ControlPlane } from "./control-plane.ts";

// What the controller publishes, as a real API server takes, stores and returns it.

const CLUSTER = `${"a".repeat(31)}.${"b".repeat(31)}`;
const NAMESPACE = registryNamespace(CLUSTER);
const REGISTRY = { cluster: CLUSTER, namespace: NAMESPACE, clusterSetCidrs: [], endpointCidrs: [] };
const LONG = "s".repeat(63);
const PLAIN: ExportRecord = {
  cluster: CLUSTER,
  key: "demo/serve",
  exported: 1_767_225_600_000,
  metadata: { labels: {}, annotations: {} },
  headless: false,
  ports: [],
  families: ["IPv4"],
  sessionAffinity: "None",
};
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
    const { fact, problems } = decodeRecord(
      await stored(encodeRecord(record, NAMESPACE)),
      REGISTRY,
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(fact, record);
  });
}

for (const [family, prefix] of [
  ["IPv4", "10.1.2."],
  ["IPv6", "fd00::1:"],
] as const) {
  test(`the API server accepts a full slice of ${family}, and it is read as written`, async () => {
    const endpoints = Array.from(
      { length: 100 },
      (_, i): EndpointFact => ({
        address: `${prefix}${i + 1}`,
        ready: i % 2 === 0,
        serving: i % 3 !== 0,
        terminating: i % 5 === 0,
        hostname: `h${i}`,
        nodeName: `n${i}.example`,
        zone: `z_${i}`,
      }),
    );
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
    complete: true,
  };
  const { fact, problems } = decodeCluster(
    await stored(encodeCluster(cluster, NAMESPACE)),
    REGISTRY,
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(fact, cluster);
});
