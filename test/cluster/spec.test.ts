import assert from "node:assert/strict";
import { test } from "node:test";
import { topologyOf } from "../lab/topology.ts";
import { specOf } from "./keeping.ts";
import { clusterCidrs, labSpecOf, plansOf } from "./spec.ts";

test("Clusters and nodes are numbered; clusters without a region are in the last one", () => {
  const plans = plansOf({ clusters: 3, nodes: 2, regions: ["eu-west", "us-east"] });
  assert.deepEqual(
    plans.map(({ id, region }) => [id, region]),
    [
      ["cluster-1", "eu-west"],
      ["cluster-2", "us-east"],
      ["cluster-3", "us-east"],
    ],
  );
  assert.deepEqual(plans[1]?.nodes, [
    { place: "node-1", name: "cluster-2-node-1", zone: "us-east-a" },
    { place: "node-2", name: "cluster-2-node-2", zone: "us-east-b" },
  ]);
});

test("Clusters have the names and modes of kube-proxy that they are given, in order", () => {
  const plans = plansOf({ clusters: 3, names: ["old"], proxies: ["iptables", "nftables"] });
  assert.deepEqual(
    plans.map(({ id, proxy }) => [id, proxy]),
    [
      ["old", "iptables"],
      ["cluster-2", "nftables"],
      ["cluster-3", "nftables"],
    ],
  );
  assert.equal(plans[0]?.nodes[0]?.name, "old-node-1");
});

test("kube-proxy's cluster CIDR contains the pod ranges of all nodes of its cluster, and of no other cluster", () => {
  const plans = plansOf({ clusters: 12, nodes: 3 });
  const { nodes } = topologyOf(labSpecOf(plans));
  for (const plan of plans) {
    const [v4 = "", v6 = ""] = clusterCidrs(plan).map((text) =>
      text.replace(/(\.0\.0\/16|::\/48)$/, ""),
    );
    for (const { cluster, podCidrs } of nodes) {
      const inside = podCidrs.filter(
        ({ text }) => text.startsWith(`${v4}.`) || text.startsWith(`${v6}:`),
      );
      assert.equal(inside.length, cluster === plan.id ? 2 : 0, `${plan.id} ${cluster}`);
    }
  }
});

test("Invalid numbers, regions and modes are rejected, and the message names them", () => {
  assert.throws(() => plansOf({ clusters: 0 }), /clusters: 0/);
  assert.throws(() => plansOf({ nodes: 1.5 }), /nodes: 1\.5/);
  assert.throws(() => plansOf({ regions: ["eu_west"] }), /region "eu_west"/);
  assert.throws(() => plansOf({ names: ["Old"] }), /name "Old"/);
  assert.throws(() => plansOf(specOf({ CLUSTERS: "many" })), /clusters: NaN/);
  assert.throws(() => specOf({ PROXY: "ipvs" }), /PROXY=ipvs.*iptables or nftables/);
});

test("Lists in environment variables are separated by blanks or commas", () => {
  assert.deepEqual(
    specOf({ CLUSTERS: "2", NODES: "3", REGIONS: "a, b", PROXY: "nftables iptables" }),
    {
      clusters: 2,
      nodes: 3,
      regions: ["a", "b"],
      proxies: ["nftables", "iptables"],
    },
  );
  assert.deepEqual(specOf({}).regions, ["eu-west", "eu-west", "us-east"]);
});
