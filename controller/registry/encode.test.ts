import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabelName, isLabelValue, isSubdomainName, objectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { ExportRecord } from "../model/facts.ts";
import { decodeSlice } from "./decode-record.ts";
import { encodeRecord, encodeSlice } from "./encode.ts";
import * as names from "./names.ts";
import { publishable } from "./publication-limits.ts";

// What is published, as every release writes it: decode.test.ts has what this one reads of others.

const NAMESPACE = "clusterset-registry-c1";
const REGISTRY = {
  ...{ cluster: "c1", namespace: NAMESPACE, clusterSetCidrs: [], endpointCidrs: [] },
};

const record = {
  apiVersion: "multicluster.x-k8s.io/v1beta1",
  kind: "ServiceImport",
  metadata: {
    name: "serve.demo",
    namespace: NAMESPACE,
    labels: {
      "clusterset-proxy.io/record": "serve.demo",
      "multicluster.kubernetes.io/source-cluster": "c1",
    },
    annotations: {
      "clusterset-proxy.io/exported-at": "2026-01-01T00:00:00.000Z",
      "clusterset-proxy.io/exported-labels": '{"a":"2","b":"1"}',
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
    namespace: NAMESPACE,
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

const RECORD: ExportRecord = {
  cluster: "c1",
  key: "demo/serve",
  exported: Date.UTC(2026, 0, 1),
  metadata: { labels: { b: "1", a: "2" }, annotations: {} },
  headless: false,
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  families: ["IPv4"],
  sessionAffinity: "None",
};

test("a record has no label that agents or DNS servers select", () => {
  const annotations = { "clusterset-proxy.io/format": "1", ...record.metadata.annotations };
  const metadata = { ...record.metadata, annotations };
  assert.deepEqual(encodeRecord(RECORD, NAMESPACE), { ...record, metadata });
});

test("a record's slice has no label that kube-proxy, DNS servers or agents select", () => {
  const { fact } = decodeSlice(slice, REGISTRY);
  assert.ok(fact);
  assert.deepEqual(encodeSlice(fact, "c1").metadata, slice.metadata);
});

const LONG = "a".repeat(63);
const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const service = fc.tuple(label, label).map(([namespace, name]) => objectKey(namespace, name));

test("a registry's namespace is named after the cluster ID; long IDs and IDs with a dot have unique namespaces", () => {
  assert.equal(names.registryNamespace("c1"), "clusterset-registry-c1");
  const ids = [LONG, `${LONG.slice(1)}b`, "eu.c1", "eu-c1", `${"a".repeat(31)}.${"b".repeat(31)}`];
  const namespaces = ids.map(names.registryNamespace);
  for (const namespace of namespaces) assert.ok(isLabelName(namespace), namespace);
  assert.equal(new Set(namespaces).size, ids.length);
});

test("the Service follows from the name of a record or slice, and from no other name", async () => {
  await forAll([service, fc.nat(400)], (key, index) => {
    assert.equal(names.serviceOfRecord(names.recordName(key)), key);
    assert.equal(names.serviceOfSlice(names.sliceName(key, "IPv6", index)), key);
    assert.ok(isSubdomainName(names.sliceName(key, "IPv4", index)));
    assert.ok(isLabelValue(names.recordLabel(key)));
  });
  for (const name of ["", ".", "a", "a.", ".b", "a.b.", "a.b.c.d", "A.b.v4-0"]) {
    assert.equal(names.serviceOfSlice(name), undefined);
  }
  for (const name of ["", "a", "a.b.c", "A.b", "a/b.c"])
    assert.equal(names.serviceOfRecord(name), undefined);
});

test("two long names that begin alike have different labels", () => {
  const keys = [`${LONG}/${LONG}`, `${LONG.slice(1)}b/${LONG}`] as const;
  assert.notEqual(names.recordLabel(keys[0]), names.recordLabel(keys[1]));
  for (const key of keys) assert.ok(isLabelValue(names.recordLabel(key)));
});

test("valid properties are published in order of their names, invalid ones are not", () => {
  const invalid = { A: "1", "a/b": "1", a: "", c: "x".repeat(257) };
  const published = publishable({ b: "2", "a.example": "1", ...invalid });
  assert.equal(JSON.stringify(published), '{"a.example":"1","b":"2"}');
});

test("at most 64 properties are published, and no more than 16,384 characters", () => {
  const many = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${100 + i}`, value]));
  assert.deepEqual(publishable(many(65, "v")), many(64, "v"));
  const long = publishable(many(64, '"'.repeat(200)));
  assert.equal(Object.keys(long).length, 39);
  assert.ok(JSON.stringify(long).length <= 16_384);
});
