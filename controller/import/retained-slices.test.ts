import assert from "node:assert/strict";
import { test } from "node:test";
import { exportRecord, KEY, servicePort } from "../../test/generators/export-records.ts";
import { parseImportedSlice } from "../model/parse-imported-slice.ts";
import { type Retention, retainedSlice, retentionOf } from "./retained-slices.ts";
import { changedSlice, restoredContent, staleContent } from "./slice-manifest.ts";

const READY = { ready: true, serving: true, terminating: false };
const LAST = { ready: false, serving: true, terminating: false };
const ENDING = { ready: false, serving: true, terminating: true };
const DEAD = { ready: false, serving: false, terminating: false };

/** An imported slice of c2 as the API server returns it. */
function slice(conditions: readonly object[], ports: readonly string[] = ["http 8080"]) {
  return {
    metadata: {
      namespace: "demo",
      name: "serve.c2.0",
      labels: {
        "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
        "multicluster.kubernetes.io/service-name": "serve",
        "multicluster.kubernetes.io/source-cluster": "c2",
        "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
      },
    },
    addressType: "IPv4",
    ports: ports.map(servicePort),
    endpoints: conditions.map((one, i) => ({ addresses: [`10.2.0.${i}`], conditions: one })),
  };
}

function retention(over: Partial<Retention> = {}, headless = false): Retention {
  const ports = [servicePort("http 80")];
  const service = { key: KEY, headless, families: ["IPv4"] as const, ports };
  return { service, isInRotation: false, record: undefined, ...over };
}

/** The decision about the slice; if it changes, its conditions and ports afterwards. */
function retained(object: ReturnType<typeof slice>, how: Retention) {
  const { fact } = parseImportedSlice(object);
  assert.ok(fact !== undefined);
  const decision = retentionOf(fact, how);
  if (decision !== "changed") return decision;
  const manifest = retainedSlice(object, how);
  const after = manifest && parseImportedSlice(manifest).fact;
  assert.ok(after !== undefined);
  assert.equal(retentionOf(after, how), "kept", "it changes once");
  const endpoints = (manifest?.endpoints ?? []) as { conditions: unknown }[];
  return [endpoints.map(({ conditions }) => conditions), after.ports.map(({ name }) => name)];
}

test("out of rotation, ready endpoints are a last resort for a VIP, and those of a last resort are ready for DNS", () => {
  const mixed = slice([READY, LAST, ENDING, DEAD]);
  assert.deepEqual(retained(mixed, retention()), [[LAST, LAST, ENDING, DEAD], ["http"]]);
  assert.deepEqual(retained(mixed, retention({}, true)), [[READY, READY, ENDING, DEAD], ["http"]]);
  assert.equal(retained(slice([LAST, ENDING, DEAD]), retention()), "kept");
  assert.equal(retained(slice([READY, ENDING, DEAD]), retention({}, true)), "kept");
});

test("in rotation nothing changes: which endpoints are ready is unknown", () => {
  for (const headless of [false, true]) {
    const how = retention({ isInRotation: true }, headless);
    assert.equal(retained(slice([READY, LAST]), how), "kept");
  }
});

test("a slice loses ports that the import has no longer with the number of the cluster, and goes with the last", () => {
  const of = (...ports: readonly string[]) =>
    retention({ record: exportRecord({ cluster: "c2", ports: ports.map(servicePort) }) });
  const two = slice([LAST], ["http 8080", "grpc 9090"]);
  assert.deepEqual(retained(two, of("http 80", "grpc 90")), [[LAST], ["http"]]);
  assert.equal(retained(two, of("http 81", "grpc 90")), "removed");
  assert.equal(retained(slice([LAST]), of("http 80")), "kept");
  assert.equal(retained(slice([LAST]), retention()), "kept", "unknown exports: all ports stay");
});

test("ports of a slice have the names of the import, those of its cluster, or those that the import had", () => {
  const record = exportRecord({ cluster: "c2", ports: [servicePort("web 80")] });
  const of = (ports: readonly string[], imported = ["http 80"], own = record) => {
    const all = retention({ record: own, isInRotation: true });
    const service = { ...all.service, ports: imported.map(servicePort) };
    const result = retained(slice([READY], ports), { ...all, service });
    return typeof result === "string" ? result : result[1];
  };
  assert.equal(of(["http 8080"]), "kept");
  assert.deepEqual(of(["web 8080"]), ["http"]);
  assert.deepEqual(of(["former 8080"]), ["http"]);
  assert.equal(of(["former 53/UDP"]), "removed");
  assert.equal(of(["http 8080"], ["http 81"]), "removed");
  const both = exportRecord({ cluster: "c2", ports: ["web 80", "admin 81"].map(servicePort) });
  assert.deepEqual(of(["web 8080", "admin 8081"], ["http 80", "admin 82"], both), ["http"]);
});

test("a slice of a family that the import has no longer goes; headless slices without ports, and empty slices, stay", () => {
  const record = exportRecord({ cluster: "c2" });
  const service = { ...retention().service, families: ["IPv6"] as const };
  assert.equal(retained(slice([LAST]), retention({ service, record })), "removed");
  const bare = exportRecord({ cluster: "c2", ports: [] });
  assert.equal(retained(slice([READY], []), retention({ record: bare }, true)), "kept");
  assert.equal(retained(slice([], []), retention({ record })), "kept");
});

test("a slice of a stale cluster has its ready endpoints as serving, keeps the rest without fields of other writers, and is restored to what it was", () => {
  const { metadata, ...content } = slice([READY, DEAD, ENDING]);
  const { labels } = metadata;
  const other = { "example.com/other": "writer" };
  const annotations = { "clusterset-proxy.io/cluster-properties": '{"a":"b"}' };
  const seen = {
    ...{ ...metadata, uid: "u", resourceVersion: "7" },
    ...{ labels: { ...labels, ...other }, annotations: { ...annotations, ...other } },
  };
  const stale = changedSlice({ ...content, metadata: seen }, staleContent);
  const kind = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };
  const { endpoints } = slice([LAST, DEAD, ENDING]);
  const expected = { ...kind, ...content, metadata: { ...metadata, annotations }, endpoints };
  assert.deepEqual(stale, expected);
  assert.deepEqual(changedSlice(stale, staleContent), stale);
  const restored = changedSlice(stale, restoredContent);
  assert.deepEqual(restored?.endpoints, content.endpoints);
  assert.deepEqual(changedSlice(restored, restoredContent), restored);
});

test("an object that is no imported slice gives none", () => {
  const { metadata } = slice([]);
  for (const wrong of [null, {}, { metadata }, { ...slice([]), addressType: "FQDN" }]) {
    assert.equal(changedSlice(wrong, staleContent), undefined);
    assert.equal(retainedSlice(wrong, retention()), undefined);
  }
});
