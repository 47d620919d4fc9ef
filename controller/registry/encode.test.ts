import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExportRecord } from "../model/facts.ts";
import { encodeRecord, encodeSlice } from "./encode.ts";

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
  assert.deepEqual(encodeRecord(RECORD, "clusterset-registry-c1"), {
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
        "clusterset-proxy.io/format": "1",
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
  });
});

test("a record's slice has no label that kube-proxy, DNS servers or agents select", () => {
  const key = "clusterset-registry-c1/serve.demo.v4-0";
  const { metadata } = encodeSlice(
    { key, service: "demo/serve", family: "IPv4", ports: [], endpoints: [] },
    "c1",
  );
  assert.deepEqual(metadata, {
    name: "serve.demo.v4-0",
    namespace: "clusterset-registry-c1",
    labels: {
      "clusterset-proxy.io/record": "serve.demo",
      "multicluster.kubernetes.io/source-cluster": "c1",
      "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
      "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
    },
  });
});
