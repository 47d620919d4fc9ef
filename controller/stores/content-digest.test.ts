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

test("an object says the same in any order, in any version, and with fields that are empty", () => {
  const labels = { a: "1", b: "2" };
  assert.ok(
    isAlike({ metadata: { labels, name: "web-2", resourceVersion: "8", annotations: {} } }),
  );
  assert.ok(isAlike({ apiVersion: "discovery.k8s.io/v2", status: { x: 1 } }));
  assert.ok(isAlike({ ports: [], hints: null, more: { nothing: { at: [] } } }));
  const { endpoints, addressType, ...rest } = SLICE;
  assert.equal(contentDigest({ ...rest, endpoints, addressType }), contentDigest(SLICE));
});

test("it says something else with another label, another value, or another order of a list", () => {
  assert.ok(!isAlike({ metadata: { labels: { a: "1" } } }));
  assert.ok(!isAlike({ metadata: { ...SLICE.metadata, annotations: { a: "1" } } }));
  assert.ok(!isAlike({ addressType: "IPv6" }));
  assert.ok(!isAlike({ endpoints: SLICE.endpoints.toReversed() }));
  assert.ok(!isAlike({ endpoints: [...SLICE.endpoints, null] }));
  assert.ok(!isAlike({ some: false }) && !isAlike({ some: 0 }) && !isAlike({ some: "" }));
});

test("a field may have any name, and counts", () => {
  for (const name of ["__proto__", "constructor", "toJSON"]) {
    const more = JSON.parse(`{ "${name}": { "a": "b" } }`);
    assert.ok(!isAlike(more), name);
    assert.notEqual(statusDigest({ status: more }), statusDigest({}), name);
  }
});

test("the status is no part of the content, and is told apart by what it says", () => {
  const of = (status: unknown) => statusDigest({ ...SLICE, status });
  assert.equal(of({ conditions: [] }), of(undefined));
  assert.notEqual(of({ clusters: [{ cluster: "c1" }] }), of({ clusters: [{ cluster: "c2" }] }));
});
