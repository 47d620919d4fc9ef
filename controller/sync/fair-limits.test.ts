import assert from "node:assert/strict";
import { test } from "node:test";
import { type MemoryCluster, worldWith } from "../../test/stages/controller-world.ts";

function addresses(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}.${i + 1}`);
}

/** Message of the condition Ready. */
function ready(cluster: MemoryCluster, resource: "serviceexports" | "serviceimports", key: string) {
  const { status, message } = cluster.condition(resource, key);
  return `${status} ${message}`;
}

test("a tenant whose exports fill the limit of a cluster is cut, and nobody else notices, also after restarts", async () => {
  const limit = ["--max-rules-per-cluster", "10"];
  const { world, c1, c2 } = worldWith(...limit);
  c1.flags = limit;
  for (const cluster of world.clusters) cluster.namespace("aaa");
  const all = addresses("10.1.1", 40);
  // Its names come first, and its export is older.
  c1.offer("aaa/greedy", all);
  await world.run(20_000);
  c1.offer("shop/web", addresses("10.1.0", 3));
  await world.pass(20_000);
  const web = "vip 10.1.0.1 10.1.0.2 10.1.0.3";
  const check = (when: string) => {
    assert.equal(c2.imported()["shop/web"], web, when);
    assert.equal(c1.imported()["shop/web"], web, when);
    assert.match(
      ready(c1, "serviceexports", "shop/web"),
      /^True Published to \S+ cluster's registry\.$/,
    );
    assert.match(ready(c2, "serviceimports", "shop/web"), /^True ClusterSetIP \S+\.$/);
    // The own cluster's endpoints need no registry.
    assert.deepEqual(c1.imported()["aaa/greedy"]?.split(" ").length, 1 + all.length, when);
    assert.deepEqual(c2.imported()["aaa/greedy"]?.split(" ").length, 1 + 7, when);
    assert.match(ready(c1, "serviceexports", "aaa/greedy"), /Left out: too-many-rules\.$/, when);
    assert.match(ready(c2, "serviceimports", "aaa/greedy"), /Left out: too-many-rules\.$/, when);
  };
  check("at first");
  for (const cluster of [c1, c2]) {
    const since = cluster.server.writes.length;
    await cluster.restart();
    await world.pass(40_000);
    assert.deepEqual(cluster.writesAfter(since), [], `a restart of ${cluster.id} writes nothing`);
    check(`after a restart of ${cluster.id}`);
  }
  c1.serve("shop/web", addresses("10.1.0", 2));
  await world.pass(20_000);
  assert.equal(c2.imported()["shop/web"], "vip 10.1.0.1 10.1.0.2");
  c1.delete("ServiceExport", "aaa/greedy");
  await world.pass(20_000);
  assert.equal(c2.imported()["aaa/greedy"], undefined);
});
