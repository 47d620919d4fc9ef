import assert from "node:assert/strict";
import { test } from "node:test";
import { clusterOfRotation, isOwnProperty, rotationProperty } from "./cluster-properties.ts";
import { endpointRangesProperty } from "./endpoint-ranges.ts";
import { PROPERTY_CLUSTER_ID } from "./keys.ts";
import { isSubdomainName } from "./names.ts";

test("what is recorded about a cluster names it, whatever its ID, and is no property of the local one", () => {
  for (const cluster of ["c2", "eu.west", "a".repeat(63)]) {
    const name = rotationProperty(cluster);
    assert.ok(isSubdomainName(name), name);
    assert.equal(clusterOfRotation(name), cluster);
    assert.equal(isOwnProperty(name), false);
    assert.equal(isOwnProperty(endpointRangesProperty(cluster)), false);
  }
  for (const other of ["", PROPERTY_CLUSTER_ID, "rotation.clusterset-proxy.io", "tier.example"]) {
    assert.equal(clusterOfRotation(other), undefined);
    assert.equal(isOwnProperty(other), true);
  }
});
