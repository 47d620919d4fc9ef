import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import { decodeCluster } from "./decode-cluster.ts";
import { decodeRecord } from "./decode-record.ts";
import { decodeSlice } from "./decode-slice.ts";

// Objects of registries that another release wrote: as the format before versions was, and as a later one may be.

const REGISTRY = {
  cluster: "c1",
  namespace: "clusterset-registry-c1",
  clusterSetCidrs: [],
  endpointCidrs: [cidr("10.1.0.0/16")],
};

const record = {
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceImport",
  metadata: {
    name: "serve.demo",
    namespace: "clusterset-registry-c1",
    labels: {
      "clusterset-proxy.io/record": "serve.demo",
      "multicluster.kubernetes.io/source-cluster": "c1",
    },
    annotations: {
      "clusterset-proxy.io/exported-at": "2026-01-01T00:00:00.000Z",
      "clusterset-proxy.io/exported-labels": '{"a":"2"}',
    },
  },
  spec: {
    type: "ClusterSetIP",
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    ipFamilies: ["IPv4"],
    sessionAffinity: "None",
  },
};

const slice = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: {
    name: "serve.demo.v4-0",
    namespace: "clusterset-registry-c1",
    labels: {
      "clusterset-proxy.io/record": "serve.demo",
      "multicluster.kubernetes.io/source-cluster": "c1",
      "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
      "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
    },
  },
  addressType: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  endpoints: [{ addresses: ["10.1.0.7"], conditions: { ready: true } }],
};

const lease = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    name: "cluster",
    namespace: "clusterset-registry-c1",
    labels: { "multicluster.kubernetes.io/source-cluster": "c1" },
    annotations: {
      "clusterset-proxy.io/cluster-properties": "{}",
      "clusterset-proxy.io/complete": "true",
    },
  },
  spec: {
    holderIdentity: "u1",
    leaseDurationSeconds: 30,
    renewTime: "2026-01-01T00:00:00.000000Z",
  },
};

/** The same object as a later release may write it: with its version, and with fields that this one does not know. */
function newer<T extends typeof lease | typeof record | typeof slice>(object: T): unknown {
  const { metadata } = object;
  const annotations = {
    ...("annotations" in metadata && metadata.annotations),
    "clusterset-proxy.io/version": "99.0.0",
    "clusterset-proxy.io/format": "99",
    "clusterset-proxy.io/later": "{",
  };
  const spec = "spec" in object && { spec: { ...object.spec, later: { than: ["this"] } } };
  return { ...object, metadata: { ...metadata, annotations }, ...spec, later: 7 };
}

for (const [name, decode, object] of [
  ["record", decodeRecord, record],
  ["Lease", decodeCluster, lease],
] as const) {
  describe(`a ${name} of another release`, () => {
    test("of an older one, which has no version, is read without a problem", () => {
      const { fact, problems } = decode(object, REGISTRY);
      assert.ok(fact);
      assert.deepEqual(problems, []);
    });

    test("of a newer one is read the same, without what this release does not know", () => {
      const { fact, problems } = decode(newer(object), REGISTRY);
      assert.deepEqual(problems, []);
      const expected = { ...decode(object, REGISTRY).fact };
      assert.deepEqual(fact, name === "Lease" ? { ...expected, version: "99.0.0" } : expected);
    });
  });
}

test("ranges of peers that a cluster published after a roll back are no properties of it", () => {
  const properties = { "c2.endpoint-cidrs.clusterset-proxy.io": "10.2.0.0/16", "a.example": "1" };
  const annotations = { "clusterset-proxy.io/cluster-properties": JSON.stringify(properties) };
  const rolledBack = { ...lease, metadata: { ...lease.metadata, annotations } };
  const { fact, problems } = decodeCluster(rolledBack, REGISTRY);
  assert.deepEqual(fact?.properties, { "a.example": "1" });
  assert.deepEqual(problems, []);
});

test("a slice of a record of an older or newer release is read the same", () => {
  const older = decodeSlice(slice, REGISTRY);
  assert.equal(older.fact?.endpoints[0]?.address, "10.1.0.7");
  assert.deepEqual(older.problems, []);
  const { fact, problems } = decodeSlice(newer(slice), REGISTRY);
  assert.deepEqual(fact, older.fact);
  assert.deepEqual(problems, []);
});
