import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ControllerWorld, type MemoryCluster } from "../../test/support/controller-world.ts";
import { at } from "../../test/support/memory/fields.ts";

// A hub that comes back with an older state, or with nothing but its namespaces, however long it was away, and whoever
// reaches it first: publishers, readers, or some connections of each.

/** `RUNS=1000` looks for what is rare. */
const RUNS = Number(process.env.RUNS ?? 4);
const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

/** What was imported and is not any more, in all clusters, from the call on. */
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
      cluster.serve(`shop/${name}`, [`10.${i + 1}.0.1`, `10.${i + 1}.0.${last}`]);
      cluster.export(`shop/${name}`);
    }
  }
  await world.pass(5000);
}

test("a hub that is restored or built anew takes nothing from anybody, and has all of it again", async () => {
  const outages = fc.record({
    /** Nothing but the namespaces is there again. */
    isEmpty: fc.boolean(),
    later: fc.subarray(["api", "db", "web"]),
    /** How long before the outage the backup was made, but for what was published in between. */
    age: fc.constantFrom(0, 30_000),
    /** Versions that others have used up before anybody comes back. */
    ahead: fc.constantFrom(0, 15),
    away: fc.constantFrom(100, 3000, 45_000),
    delay: fc.constantFrom(3, 1400),
  });
  await fc.assert(
    fc.asyncProperty(
      outages,
      numbers,
      async ({ isEmpty, later, age, ahead, away, delay }, stream) => {
        const world = ControllerWorld.withHub(["c1", "c2", "c3"], () => stream.next().value ?? 0);
        const { hub } = world;
        assert.ok(hub);
        for (const cluster of world.clusters) cluster.namespace("shop");
        world.start();
        await world.pass(15_000);
        await publish(world, ["web", "cache"], 2);
        const backup = hub.objects.save(isEmpty ? ["namespaces"] : undefined);
        const version = isEmpty ? 50 : backup.version;
        await publish(world, later, 3);
        await world.pass(age);
        const before = world.clusters.map((cluster) => cluster.imported());
        hub.down = true;
        hub.cut();
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
    ),
    { numRuns: RUNS },
  );
});
