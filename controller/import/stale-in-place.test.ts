import assert from "node:assert/strict";
import { test } from "node:test";
import { staleInPlace } from "./stale-in-place.ts";

const LABELS = {
  "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
  "multicluster.kubernetes.io/service-name": "web",
  "multicluster.kubernetes.io/source-cluster": "c2",
};

function slice(endpoints: unknown) {
  return {
    metadata: {
      namespace: "shop",
      name: "web.c2.0",
      uid: "u",
      resourceVersion: "7",
      labels: { ...LABELS, "example.com/somebody": "else" },
    },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints,
  };
}

test("ready endpoints only serve; what was not ready, and everything else of ours, stays", () => {
  const stale = staleInPlace(
    slice([
      { addresses: ["10.2.0.1"], conditions: { ready: true, serving: true }, zone: "z" },
      { addresses: ["10.2.0.2"], conditions: { ready: false, serving: false } },
      { addresses: ["10.2.0.3"], conditions: { ready: false, serving: true, terminating: true } },
    ]),
  );
  assert.deepEqual(stale, {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: "shop", name: "web.c2.0", labels: LABELS },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints: [
      { addresses: ["10.2.0.1"], conditions: { ready: false, serving: true }, zone: "z" },
      { addresses: ["10.2.0.2"], conditions: { ready: false, serving: false } },
      { addresses: ["10.2.0.3"], conditions: { ready: false, serving: true, terminating: true } },
    ],
  });
});

test("what is stale already is not changed by it, and what is no slice is nothing", () => {
  const endpoints = [{ addresses: ["10.2.0.1"], conditions: { ready: false, serving: true } }];
  assert.deepEqual(staleInPlace(slice(endpoints))?.endpoints, endpoints);
  for (const wrong of [null, {}, slice(null), slice("x")]) {
    assert.equal(staleInPlace(wrong), undefined);
  }
});
