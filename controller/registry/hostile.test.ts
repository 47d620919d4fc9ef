import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isAddress, parseAddress } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { contains } from "../../api/cidr.ts";
import { parseEndpointRanges } from "../../api/endpoint-ranges.ts";
import {
  isClusterId,
  isClusterSetId,
  isLabelName,
  isLabelValue,
  isQualifiedName,
  isSubdomainName,
} from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { isPropertyValue } from "../../api/parse/parse-properties.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { mutated } from "../../test/generators/mutations.ts";
import { CLUSTER, NAMESPACE, RECORD, SLICE } from "../../test/generators/registry-facts.ts";
import { REGISTRY } from "../../test/generators/registry-objects.ts";
import { isReservedKey } from "../model/exported-metadata.ts";
import type { ClusterFact, ExportRecord, ServicePort, SliceFact } from "../model/facts.ts";
import { decodeCluster } from "./decode-cluster.ts";
import { decodeRecord, decodeSlice } from "./decode-record.ts";
import { encodeCluster, encodeRecord, encodeSlice } from "./encode.ts";

// For any object of a peer's API server, decoding does not throw, and returns only valid facts. Thousands of levels do not get that far:
// common/kubernetes/splitters.test.ts and api/parse/json-text.test.ts.

function checkPorts(ports: readonly ServicePort[]): void {
  assert.ok(ports.length <= 100);
  for (const { name, protocol, port, appProtocol } of ports) {
    assert.ok(name === "" || isLabelName(name));
    assert.match(protocol, /^(TCP|UDP|SCTP)$/);
    assert.ok(Number.isInteger(port) && port > 0 && port < 65_536);
    assert.ok(appProtocol === undefined || isQualifiedName(appProtocol));
  }
}

function checkRecord(record: ExportRecord): void {
  assert.equal(record.cluster, "c2");
  assert.equal(record.key, "demo/serve");
  assert.ok(Number.isFinite(record.exported));
  checkPorts(record.ports);
  for (const map of [record.metadata.labels, record.metadata.annotations]) {
    for (const key of Object.keys(map)) assert.ok(isQualifiedName(key) && !isReservedKey(key), key);
    assert.ok(Object.keys(map).length <= 64);
    assert.ok(Object.entries(map).flat().join("").length <= 32_768);
  }
  for (const value of Object.values(record.metadata.labels))
    assert.ok(value === "" || isLabelValue(value));
  for (const value of Object.values(record.metadata.annotations)) assert.ok(value.isWellFormed());
  assert.match(record.families.join(), /^(IPv4|IPv6|IPv4,IPv6|IPv6,IPv4)$/);
  assert.match(record.sessionAffinity, /^(ClientIP|None)$/);
  assert.match(String(record.internalTrafficPolicy), /^(Cluster|Local|undefined)$/);
  const { affinitySeconds: seconds = 1, trafficDistribution = "none" } = record;
  assert.ok(seconds >= 1 && seconds <= 86_400);
  assert.ok(isQualifiedName(trafficDistribution));
}

function checkSlice(slice: SliceFact): void {
  assert.equal(slice.service, "demo/serve");
  checkPorts(slice.ports);
  assert.ok(slice.endpoints.length <= 1000);
  for (const endpoint of slice.endpoints) {
    const address = parseAddress(endpoint.address);
    assert.ok(isAddress(address));
    assert.deepEqual([address.text, address.family], [endpoint.address, slice.family]);
    assert.equal(classOf(address), undefined);
    assert.ok(REGISTRY.endpointCidrs.some((range) => contains(range, address)));
    for (const is of [endpoint.ready, endpoint.serving, endpoint.terminating])
      assert.equal(typeof is, "boolean");
    assert.ok(endpoint.hostname === undefined || isLabelName(endpoint.hostname));
    assert.ok(endpoint.nodeName === undefined || isSubdomainName(endpoint.nodeName));
    assert.ok(endpoint.zone === undefined || isLabelValue(endpoint.zone));
  }
}

function checkCluster(cluster: ClusterFact): void {
  assert.equal(cluster.id, "c2");
  assert.ok(isLabelValue(cluster.uid));
  assert.ok(cluster.clusterSet === undefined || isClusterSetId(cluster.clusterSet));
  assert.ok(cluster.region === undefined || isLabelValue(cluster.region));
  for (const [name, value] of Object.entries(cluster.properties))
    assert.ok(isSubdomainName(name) && isPropertyValue(value));
  for (const [id, ranges] of Object.entries(cluster.accepts ?? {}))
    assert.ok(isClusterId(id) && parseEndpointRanges(ranges) !== undefined);
  const { leaseSeconds: seconds } = cluster;
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600);
  assert.ok(Number.isFinite(Date.parse(cluster.renewal)));
}

/** Decodes an object, and checks what it gives. */
function kind<Fact>(
  name: string,
  object: unknown,
  decode: (object: unknown, registry: typeof REGISTRY) => Parsed<Fact>,
  check: (fact: Fact) => void,
) {
  const read = (given: unknown) => {
    const { fact, problems } = decode(given, REGISTRY);
    if (fact !== undefined) check(fact);
    return { fact, problems };
  };
  return { kind: name, object, read };
}

const KINDS = [
  kind("record", encodeRecord(RECORD, NAMESPACE), decodeRecord, checkRecord),
  kind("slice", encodeSlice(SLICE, "c2"), decodeSlice, checkSlice),
  kind("Lease", encodeCluster(CLUSTER, NAMESPACE), decodeCluster, checkCluster),
];

describe("decoding a registry's", () => {
  for (const { kind, object, read } of KINDS) {
    test(`${kind} accepts any object, and any value in any field`, async () => {
      assert.ok(read(object).fact !== undefined);
      let rejected = 0;
      const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true });
      await forMany(1000, [fc.oneof(mutated(object), mutated(object), anything)], (hostile) => {
        const { fact, problems } = read(hostile);
        if (fact === undefined) rejected++;
        for (const { value: shown, object: name } of problems) {
          assert.match(`${name} ${shown}`, /^[\x20-\x7e]{0,500}$/);
        }
      });
      assert.ok(rejected > 100, `${rejected}`);
    });
  }
});
