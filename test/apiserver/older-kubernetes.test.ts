import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fieldAt } from "../../api/parse/fields.ts";
import { addressesOf, planOf } from "./agent-plan.ts";
import { JoinedClusters } from "./joined-clusters.ts";

// A cluster of Kubernetes 1.24, cluster-2, in a clusterset with a new one. The tests are one story, in order.

const IDS = ["cluster-1", "cluster-2"] as const;
const JOIN = ["join", ...IDS, "--clusterset", "prod", "--no-wait", "--yes", "--skip-reachability"];

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open(IDS, { "cluster-2": "kube-apiserver-1.24" });
});
after(() => set?.[Symbol.asyncDispose]());

test("it joins with manifests that its API server accepts, a CoreDNS of its own included; a second join writes nothing", async () => {
  await set.run(...JOIN, "--dns", "own");
  for (const [id, policy] of [
    ["cluster-1", "AlwaysAllow"],
    ["cluster-2", undefined],
  ] as const) {
    for (const name of ["clusterset-controller", "clusterset-dns"]) {
      const metadata = { namespace: "clusterset-proxy", name };
      const reference = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata };
      const budget = await set.plane(id).admin.get(reference);
      assert.equal(fieldAt(budget, "spec", "unhealthyPodEvictionPolicy"), policy, name);
    }
  }
  assert.match((await set.run(...JOIN)).out, /^nothing to do$/m);
});

test("exports cross in both directions, with one VIP, and its agents use the nearest endpoints", async () => {
  await set.start(IDS);
  const [now, old] = IDS.map((id) => set.cluster(id));
  assert.ok(now && old);
  await Promise.all([now, old].map((cluster) => cluster.namespace("shop")));
  await now.offer("shop/web", "10.1.3.7");
  await old.offer("shop/web", "10.2.3.7");
  const imports = await Promise.all(
    [now, old].map((one) => one.untilImported("shop/web", ["10.1.3.7", "10.2.3.7"])),
  );
  const [vip, other] = imports.map((one) => fieldAt(one, "spec", "ips"));
  assert.deepEqual(vip, other);
  const used = () =>
    planOf(set.plane("cluster-2"), "shop/web").services.flatMap((port) => addressesOf(port));
  assert.deepEqual(used(), ["10.2.3.7"]);
  await old.endpoints("shop/web", []);
  await old.untilImported("shop/web", ["10.1.3.7"]);
  assert.deepEqual(used(), ["10.1.3.7"]);
});

test("tokens of which it cannot say whether they are in use are not rotated", async () => {
  const { code, note } = await set.user.run("rotate", ...IDS, "--yes");
  assert.equal(code, 1);
  assert.match(note, /^error: cluster-2: Kubernetes 1\.24 does not say which tokens are in use\./m);
});

test("it leaves, and keeps nothing", async () => {
  await set.run("leave", "cluster-2", "--context", "cluster-1", "--yes");
  const kinds = ["v1 Namespace", "rbac.authorization.k8s.io/v1 ClusterRole"];
  const names = (await set.objects("cluster-2", kinds)).map(({ metadata }) => metadata.name);
  assert.deepEqual(
    names.filter((name) => name.startsWith("clusterset")),
    [],
  );
});
