import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { at } from "../../test/doubles/memory/fields.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

// A hub returns with an older state or with only its namespaces, after any time; publishers and readers reconnect in
// any order.

/** `RUNS=1000` searches for rare failures. */
const RUNS = Number(process.env.RUNS ?? 4);
const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

/** Imports that were removed in any cluster since the call. */
function losses(clusters: readonly MemoryCluster[]): string[] {
  const lost: string[] = [];
  for (const { id, server } of clusters) {
    server.objects.listen(({ kind, key, before, object, type }) => {
      if (before === undefined || !["serviceimports", "endpointslices"].includes(kind)) return;
      const facts = (one: unknown) => [...ipsOf(one), ...addressesOf(one)];
      const after = type === "DELETED" ? [] : facts(object);
      const gone = facts(before).filter((one) => !after.includes(one));
      if (gone.length > 0 || type === "DELETED") lost.push(`${id} ${type} ${key}: ${gone.join()}`);
    });
  }
  return lost;
}

function ipsOf(object: unknown): string[] {
  return [at(object, ["spec", "ips"]) ?? []].flat().map(String);
}

function addressesOf(object: unknown): string[] {
  const endpoints = [at(object, ["endpoints"]) ?? []].flat();
  return endpoints.map((one: unknown) => String(at(one, ["addresses"])));
}

/** Names that c1 and c2 export: some before the backup was made, some after. */
async function publish(world: ControllerWorld, names: readonly string[], last: number) {
  for (const [i, cluster] of world.clusters.slice(0, 2).entries()) {
    for (const name of names) {
      cluster.offer(`shop/${name}`, [`10.${i + 1}.0.1`, `10.${i + 1}.0.${last}`]);
    }
  }
  await world.pass(5000);
}

test("a hub that is restored or rebuilt removes no import, and contains all records again", async () => {
  const outages = fc.record({
    /** True if only the namespaces are restored. */
    isEmpty: fc.boolean(),
    later: fc.subarray(["api", "db", "web"]),
    /** Milliseconds between backup and outage, without the time of publications. */
    age: fc.constantFrom(0, 30_000),
    /** Resource versions that other writers use before any controller reconnects. */
    ahead: fc.constantFrom(0, 15),
    away: fc.constantFrom(100, 3000, 45_000),
    delay: fc.constantFrom(3, 1400),
  });
  await forMany(
    RUNS,
    [outages, numbers],
    async ({ isEmpty, later, age, ahead, away, delay }, stream) => {
      const world = ControllerWorld.withHub(["c1", "c2", "c3"], () => stream.next().value ?? 0);
      const { hub } = world;
      assert.ok(hub);
      for (const cluster of world.clusters) cluster.namespace("shop");
      await world.run(15_000);
      await publish(world, ["web", "cache"], 2);
      const backup = hub.objects.save(isEmpty ? ["namespaces"] : undefined);
      const version = isEmpty ? 50 : backup.version;
      await publish(world, later, 3);
      await world.pass(age);
      const before = world.clusters.map((cluster) => cluster.imported());
      hub.fail();
      const lost = losses(world.clusters);
      await world.pass(away);
      hub.objects.restore(backup, version + ahead);
      hub.weather = { delay, lost: 0 };
      hub.down = false;
      await world.pass(180_000);
      assert.deepEqual(lost, []);
      for (const [i, cluster] of world.clusters.entries()) {
        assert.deepEqual(cluster.imported(), before[i], cluster.log.slice(-30).join("\n"));
      }
      await publish(world, ["web"], 9);
      assert.match(world.clusters[2]?.imported()["shop/web"] ?? "", /10\.2\.0\.9/);
      await world.stop();
    },
  );
});
