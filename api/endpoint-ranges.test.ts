import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterOfProperty,
  endpointRangesProperty,
  endpointRangesText,
  parseEndpointRanges,
} from "./endpoint-ranges.ts";
import { isSubdomainName } from "./names.ts";

test("the property of a cluster names it, whatever its ID", () => {
  for (const cluster of ["c2", "eu.west", "a".repeat(63)]) {
    const name = endpointRangesProperty(cluster);
    assert.ok(isSubdomainName(name), name);
    assert.equal(clusterOfProperty(name), cluster);
  }
  for (const other of [
    "",
    "c2",
    "cluster.clusterset.k8s.io",
    "endpoint-cidrs.clusterset-proxy.io",
  ]) {
    assert.equal(clusterOfProperty(other), undefined, other);
  }
});

test("ranges are read as they are written; one that is invalid invalidates all", () => {
  const text = "10.2.0.0/16,fd00:10:2::/48";
  const ranges = parseEndpointRanges(text);
  assert.ok(ranges !== undefined);
  assert.equal(endpointRangesText(ranges), text);
  for (const wrong of [
    "",
    "10.2.0.0/16,",
    "10.2.0.1/16",
    "any",
    Array(300).fill("10.0.0.0/8").join(),
  ]) {
    assert.equal(parseEndpointRanges(wrong), undefined, wrong);
  }
});
