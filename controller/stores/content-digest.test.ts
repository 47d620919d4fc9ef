import assert from "node:assert/strict";
import { test } from "node:test";
import { contentDigest, statusDigest } from "./content-digest.ts";

const SLICE = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-1", resourceVersion: "7", labels: { b: "2", a: "1" } },
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.1.0.7"], conditions: { ready: true } }, null],
};

function isAlike(other: object): boolean {
  return contentDigest(SLICE) === contentDigest({ ...SLICE, ...other });
}

test("order of fields, version and empty fields do not change the digest", () => {
  const labels = { a: "1", b: "2" };
  assert.ok(
    isAlike({ metadata: { labels, name: "web-2", resourceVersion: "8", annotations: {} } }),
  );
  assert.ok(isAlike({ apiVersion: "discovery.k8s.io/v2", status: { x: 1 } }));
  assert.ok(isAlike({ ports: [], hints: null, more: { nothing: { at: [] } } }));
  const { endpoints, addressType, ...rest } = SLICE;
  assert.equal(contentDigest({ ...rest, endpoints, addressType }), contentDigest(SLICE));
});

test("labels, values and the order of lists change the digest", () => {
  assert.ok(!isAlike({ metadata: { labels: { a: "1" } } }));
  assert.ok(!isAlike({ metadata: { ...SLICE.metadata, annotations: { a: "1" } } }));
  assert.ok(!isAlike({ addressType: "IPv6" }));
  assert.ok(!isAlike({ endpoints: SLICE.endpoints.toReversed() }));
  assert.ok(!isAlike({ endpoints: [...SLICE.endpoints, null] }));
  assert.ok(!isAlike({ some: false }) && !isAlike({ some: 0 }) && !isAlike({ some: "" }));
});

test("fields of any name count", () => {
  for (const name of ["__proto__", "constructor", "toJSON"]) {
    const more = JSON.parse(`{ "${name}": { "a": "b" } }`);
    assert.ok(!isAlike(more), name);
    assert.notEqual(statusDigest({ status: more }), statusDigest({}), name);
  }
});

test("content and status have separate digests", () => {
  const of = (status: unknown) => statusDigest({ ...SLICE, status });
  assert.equal(of({ conditions: [] }), of(undefined));
  assert.notEqual(of({ clusters: [{ cluster: "c1" }] }), of({ clusters: [{ cluster: "c2" }] }));
});
