import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { isUsage, type Usage, usageText } from "../../common/config/usage.ts";
import { cidr } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { expected, value } from "../../test/generators/read-value.ts";
import type { NodeFact, NodeObservation } from "../model/facts.ts";
import { parseConfig } from "./config.ts";
import { clusterRegions } from "./flags.ts";
import { nodeFact } from "./node-fact.ts";

function accepted(result: NodeFact | Usage): NodeFact {
  assert.ok(!isUsage(result), isUsage(result) ? usageText(result) : "");
  return result;
}

function fact(
  argv: readonly string[],
  addresses: readonly string[],
  sight?: NodeObservation,
): NodeFact | Usage {
  const config = parseConfig(["--manifests", "dir", ...argv], {}, { name: "n1", terminal: false });
  assert.ok(!isUsage(config), isUsage(config) ? usageText(config) : "");
  return nodeFact(config, addresses, sight);
}

test("a node has the values of the flags; other values are absent", () => {
  assert.deepEqual(fact([], []), {
    name: "n1",
    clusterRegions: new Map(),
    endpointRanges: new Map(),
    properties: new Map(),
    health: "endpoints",
    clusterSetCidrs: [{ family: "IPv4", text: "241.0.0.0/8", bits: 8, hex: "f1000000" }],
    explicitVipCidrs: [],
    podCidrs: [],
    nodePodCidrs: [],
    serviceCidrs: [],
    subnets: [],
    network: { ranges: [], addresses: new Set() },
    reservedAddresses: new Set(),
  });
  const said = ["--cluster-id=c1", "--region=eu", "--zone=eu-a", "--cluster-regions=c2=us"];
  const { cluster, region, zone, clusterRegions } = accepted(fact(said, []));
  assert.deepEqual([cluster, region, zone, clusterRegions.get("c2")], ["c1", "eu", "eu-a", "us"]);
});

test("the node's addresses are reserved in canonical form; addresses that no object could name are left out", () => {
  const node = accepted(fact([], ["127.0.0.1", "FD00:0::1", "fe80::1%eth0"]));
  assert.deepEqual([...node.reservedAddresses], ["127.0.0.1", "fd00::1"]);
});

test("a ClusterSet CIDR that holds the node's own address is rejected: the guard would block it", () => {
  const refused = fact(["--clusterset-cidr", "10.0.0.0/8"], ["127.0.0.1", "10.1.2.3"]);
  assert.ok(isUsage(refused));
  assert.equal(
    usageText(refused),
    'CSP_USAGE: --clusterset-cidr: "10.0.0.0/8": contains 10.1.2.3, an address of this node or of its API server\n',
  );
});

const SEEN: NodeObservation = {
  object: {
    region: "eu",
    zone: "eu-a",
    podCidrs: [cidr("10.1.3.0/24")],
    addresses: ["192.0.2.9"],
  },
  properties: new Map([[PROPERTY_CLUSTER_ID, "c1"]]),
};

test("observed values of the node and its cluster replace missing flags", () => {
  const node = accepted(fact([], ["127.0.0.1"], SEEN));
  assert.deepEqual([node.cluster, node.region, node.zone], ["c1", "eu", "eu-a"]);
  assert.deepEqual(node.nodePodCidrs, [cidr("10.1.3.0/24")]);
  assert.deepEqual([...node.reservedAddresses], ["127.0.0.1", "192.0.2.9"]);
  assert.deepEqual(node.properties, SEEN.properties);
});

test("flags take precedence over observed values", () => {
  const said = ["--cluster-id=c9", "--region=us", "--zone=us-a"];
  const { cluster, region, zone } = accepted(fact(said, [], SEEN));
  assert.deepEqual([cluster, region, zone], ["c9", "us", "us-a"]);
  assert.equal(accepted(fact(["--cluster-regions=c1=asia"], [], SEEN)).region, "asia");
});

test("a ClusterSet CIDR that holds an address or the pods of the Node object is rejected", () => {
  for (const [range, word] of [
    ["192.0.2.0/24", "contains 192.0.2.9"],
    ["10.1.0.0/16", "overlaps 10.1.3.0/24"],
  ] as const) {
    const refused = fact(["--clusterset-cidr", range], [], SEEN);
    assert.ok(isUsage(refused));
    assert.match(usageText(refused), new RegExp(word));
  }
});

test("an interface's single address in the ClusterSet CIDR is a VIP; a subnet's, or the node's own, is rejected", () => {
  const range = ["--clusterset-cidr", "241.0.0.0/8"];
  const addressed = (addresses: string[], object = SEEN.object) =>
    fact(range, [], { ...SEEN, object, addresses });
  const node = accepted(addressed(["192.0.2.7/24", "241.0.0.7/32"]));
  assert.deepEqual([...node.reservedAddresses], ["192.0.2.7", "192.0.2.9"]);
  assert.ok(isUsage(addressed(["241.0.0.7/24"])));
  assert.ok(SEEN.object);
  assert.ok(isUsage(addressed(["241.0.0.7/32"], { ...SEEN.object, addresses: ["241.0.0.7"] })));
});

test("the node's subnets are those of its interfaces", () => {
  const addresses = ["192.0.2.7/24", "fd00::1/64", "203.0.113.9/32", "198.51.100.1"];
  const node = accepted(fact([], [], { addresses, properties: new Map() }));
  const subnets = ["192.0.2.0/24", "fd00::/64", "203.0.113.9/32"];
  assert.deepEqual(node.subnets, subnets.map(cidr));
  const reserved = ["192.0.2.7", "fd00::1", "203.0.113.9", "198.51.100.1"];
  assert.deepEqual([...node.reservedAddresses], reserved);
});

test("properties with endpoint ranges are ranges of that cluster, and no properties of this one", () => {
  const properties = new Map([
    ["c2.endpoint-cidrs.clusterset-proxy.io", "10.2.0.0/16,fd00:10:2::/48"],
    ["a.b.endpoint-cidrs.clusterset-proxy.io", "10.3.0.0/16"],
    ["endpoint-cidrs.clusterset-proxy.io", "any text"],
    ["tier.example.com", "gold"],
  ]);
  const node = accepted(fact([], [], { properties }));
  assert.deepEqual(
    [...node.endpointRanges].map(([cluster, ranges]) => [cluster, ranges.map(({ text }) => text)]),
    [
      ["c2", ["10.2.0.0/16", "fd00:10:2::/48"]],
      ["a.b", ["10.3.0.0/16"]],
    ],
  );
  assert.deepEqual(
    [...node.properties.keys()],
    ["endpoint-cidrs.clusterset-proxy.io", "tier.example.com"],
  );
});

test("cluster regions are pairs, each cluster once", () => {
  const regions = value(clusterRegions("c1=eu-west, c2.example=us-east"));
  assert.deepEqual(
    [...regions],
    [
      ["c1", "eu-west"],
      ["c2.example", "us-east"],
    ],
  );
  assert.equal(value(clusterRegions("")).size, 0);
  for (const wrong of ["c1", "c1=", "=eu", "c1=eu=west", "C1=eu", "c1=eu,", "c1=a b"]) {
    assert.match(expected(clusterRegions(wrong)), /expected pairs/, wrong);
  }
  assert.match(expected(clusterRegions("c1=eu,c1=us")), /names c1 twice/);
});

test("no text makes the reader throw", async () => {
  const text = fc.string({ unit: fc.constantFrom(..."a1=,. -".split("")) });
  await forAll([text], (given) => {
    const read = clusterRegions(given);
    assert.ok("value" in read || "expected" in read);
  });
});
