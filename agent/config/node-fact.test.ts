import assert from "node:assert/strict";
import { test } from "node:test";
import type { NodeFact } from "../model/facts.ts";
import { parseConfig } from "./config.ts";
import { nodeFact } from "./node-fact.ts";
import { isUsage, type Usage, usageText } from "./usage.ts";

function accepted(result: NodeFact | Usage): NodeFact {
  assert.ok(!isUsage(result), isUsage(result) ? usageText(result) : "");
  return result;
}

function fact(argv: readonly string[], addresses: readonly string[]): NodeFact | Usage {
  const config = parseConfig(["--manifests", "dir", ...argv], {}, { name: "n1", terminal: false });
  assert.ok(!isUsage(config), isUsage(config) ? usageText(config) : "");
  return nodeFact(config, addresses);
}

test("a node is what the operator said of it; what was not said is absent", () => {
  assert.deepEqual(fact([], []), {
    name: "n1",
    clusterRegions: new Map(),
    clusterSetCidrs: [{ family: "IPv4", text: "241.0.0.0/8", bits: 8, hex: "f1000000" }],
    explicitVipCidrs: [],
    podCidrs: [],
    serviceCidrs: [],
    reservedAddresses: new Set(),
  });
  const said = ["--cluster-id=c1", "--region=eu", "--zone=eu-a", "--cluster-regions=c2=us"];
  const { cluster, region, zone, clusterRegions } = accepted(fact(said, []));
  assert.deepEqual([cluster, region, zone, clusterRegions.get("c2")], ["c1", "eu", "eu-a", "us"]);
});

test("the node's addresses are reserved in canonical form; what no object could name is left out", () => {
  const node = accepted(fact([], ["127.0.0.1", "FD00:0::1", "fe80::1%eth0"]));
  assert.deepEqual([...node.reservedAddresses], ["127.0.0.1", "fd00::1"]);
});

test("a ClusterSet CIDR that holds the node's own address is refused: the guard would cut it off", () => {
  const refused = fact(["--clusterset-cidr", "10.0.0.0/8"], ["127.0.0.1", "10.1.2.3"]);
  assert.ok(isUsage(refused));
  assert.equal(
    usageText(refused),
    'CSP_USAGE: --clusterset-cidr: "10.0.0.0/8": holds 10.1.2.3, an address of this node or of its API server\n',
  );
});
