import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const NAMES = Array.from({ length: 10 }, (_, i) => `shop/web-${i}`);

/** The clusters in the status of an import. */
function clustersOf({ server }: MemoryCluster, key: string): unknown[] {
  const clusters = at(server.objects.get("serviceimports", key), ["status", "clusters"]);
  return Array.isArray(clusters) ? clusters.map((one) => at(one, ["cluster"])) : [];
}

/** Clusters in sync that both export each of `NAMES`; c1 has no endpoint of the first. */
async function stage() {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const [i, cluster] of world.clusters.entries()) {
    cluster.namespace("shop");
    for (const [j, key] of NAMES.entries()) {
      cluster.serve(key, i + j === 0 ? [] : [`10.${i + 1}.0.${j + 1}`]);
      cluster.export(key);
    }
  }
  await world.run(20_000);
  return { world, c1, c2 };
}

/** Each import that was written, as often as it was. */
function importsWritten(cluster: MemoryCluster, since: number): string[] {
  const writes = cluster.writesAfter(since).filter(({ kind }) => kind === "serviceimports");
  return writes.map(({ key }) => key).sort();
}

test("imports of a cluster that is unreachable since a restart say so once it is stale, and stop when it is read", async () => {
  const { world, c1, c2 } = await stage();
  await c2.stop();
  c1.server.fail();
  const slices = JSON.stringify(c2.imported());
  let since = c2.server.writes.length;
  c2.start();
  await world.pass(25_000);
  assert.deepEqual(importsWritten(c2, since), [], "it has its time to renew");
  await world.pass(95_000);
  assert.deepEqual(importsWritten(c2, since), NAMES.toSorted(), "one write each");
  for (const key of NAMES) {
    assert.match(
      String(c2.condition("serviceimports", key).message),
      /^ClusterSetIP \S+\. Left out: not-heard\.$/,
    );
    assert.deepEqual(clustersOf(c2, key), ["c1", "c2"]);
  }
  assert.deepEqual(
    JSON.stringify(c2.imported()),
    slices.replace(/(10\.1\.0\.\d+)/g, "$1(serving)"),
    "the endpoints of the lost cluster stay as a last resort",
  );
  since = c2.server.writes.length;
  await c2.restart();
  await world.pass(120_000);
  assert.deepEqual(c2.writesAfter(since), [], "another restart changes nothing");
  c1.server.down = false;
  await world.pass(120_000);
  for (const key of NAMES)
    assert.match(String(c2.condition("serviceimports", key).message), /^ClusterSetIP \S+\.$/);
  assert.deepEqual(importsWritten(c2, since), NAMES.toSorted(), "one write each");
  assert.equal(JSON.stringify(c2.imported()), slices);
});

test("a restart writes nothing, also if a cluster's controller has stopped before and only its API server answers", async () => {
  const { world, c1, c2 } = await stage();
  let since = c2.server.writes.length;
  await c2.restart();
  await world.pass(120_000);
  assert.deepEqual(c2.writesAfter(since), []);
  await c1.stop();
  await world.pass(120_000);
  since = c2.server.writes.length;
  await c2.restart();
  await world.pass(120_000);
  assert.deepEqual(c2.writesAfter(since), []);
});
