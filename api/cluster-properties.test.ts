import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterOfProperty,
  endpointRangesProperty,
  endpointRangesText,
  parseEndpointRanges,
} from "./endpoint-ranges.ts";
import { clusterOfRotation, isOwnProperty, PROPERTY_CLUSTER_ID, rotationProperty } from "./keys.ts";
import { isSubdomainName } from "./names.ts";

for (const [prefix, nameOf, clusterOf] of [
  ["rotation", rotationProperty, clusterOfRotation],
  ["endpoint-cidrs", endpointRangesProperty, clusterOfProperty],
] as const) {
  test(`a property ${prefix} names its cluster, whatever its ID, and is none of the local one`, () => {
    for (const cluster of ["c2", "eu.west", "a".repeat(63)]) {
      const name = nameOf(cluster);
      assert.ok(isSubdomainName(name), name);
      assert.equal(clusterOf(name), cluster);
      assert.equal(isOwnProperty(name), false);
    }
    const none = `${prefix}.clusterset-proxy.io`;
    for (const other of ["", "c2", PROPERTY_CLUSTER_ID, none, "tier.example"]) {
      assert.equal(clusterOf(other), undefined);
      assert.equal(isOwnProperty(other), true);
    }
  });
}

test("ranges are read as they are written; one that is invalid invalidates all", () => {
  const text = "10.2.0.0/16,fd00:10:2::/48";
  const ranges = parseEndpointRanges(text);
  assert.ok(ranges !== undefined);
  assert.equal(endpointRangesText(ranges), text);
  const long = Array(300).fill("10.0.0.0/8").join();
  for (const wrong of ["", "10.2.0.0/16,", "10.2.0.1/16", "any", long]) {
    assert.equal(parseEndpointRanges(wrong), undefined, wrong);
  }
});
