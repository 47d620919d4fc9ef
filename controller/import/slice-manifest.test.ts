import assert from "node:assert/strict";
import { test } from "node:test";
import { changedSlice, restoredContent, staleContent } from "./slice-manifest.ts";

const LABELS = {
  "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
  "multicluster.kubernetes.io/service-name": "web",
  "multicluster.kubernetes.io/source-cluster": "c2",
  "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
  "topology.kubernetes.io/region": "eu-west",
};
const ANNOTATIONS = { "clusterset-proxy.io/cluster-properties": '{"a":"b"}' };

function slice(endpoints: unknown, addressType = "IPv4") {
  return {
    metadata: {
      namespace: "shop",
      name: "web.c2.0",
      uid: "u",
      resourceVersion: "7",
      labels: { ...LABELS, "example.com/other": "writer" },
      annotations: { ...ANNOTATIONS, "example.com/other": "writer" },
    },
    addressType,
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints,
  };
}

function endpoint(address: string, [ready, serving, terminating]: readonly boolean[]) {
  return { addresses: [address], conditions: { ready, serving, terminating }, zone: "z" };
}

const ENDPOINTS = [
  endpoint("10.2.0.1", [true, true, false]),
  endpoint("10.2.0.2", [false, false, false]),
  endpoint("10.2.0.3", [false, true, true]),
];

test("ready endpoints become serving, everything else stays", () => {
  const stale = changedSlice(slice(ENDPOINTS), staleContent);
  assert.deepEqual(stale, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: "shop", name: "web.c2.0", labels: LABELS, annotations: ANNOTATIONS },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints: [
      endpoint("10.2.0.1", [false, true, false]),
      endpoint("10.2.0.2", [false, false, false]),
      endpoint("10.2.0.3", [false, true, true]),
    ],
  });
});

test("a stale slice does not change, and invalid input gives undefined", () => {
  const endpoints = [endpoint("10.2.0.1", [false, true, false])];
  assert.deepEqual(changedSlice(slice(endpoints), staleContent)?.endpoints, endpoints);
  for (const wrong of [null, {}, { metadata: slice([]).metadata }, slice([], "FQDN")]) {
    assert.equal(changedSlice(wrong, staleContent), undefined);
  }
});

test("a stale slice is restored to what it was, with any number of changes", () => {
  const stale = changedSlice(slice(ENDPOINTS), staleContent);
  const restored = changedSlice(stale, restoredContent);
  assert.deepEqual(restored?.endpoints, ENDPOINTS);
  assert.deepEqual(changedSlice(restored, restoredContent), restored);
});
