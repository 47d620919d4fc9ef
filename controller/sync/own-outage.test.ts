import assert from "node:assert/strict";
import { test } from "node:test";
import { Chance } from "../../test/generators/chance.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

for (const seed of [1, 2, 3, 4, 5]) {
  test(`after an outage of its own API server, a cluster never uses its own endpoints as a last resort (seed ${seed})`, async () => {
    const chance = new Chance(seed);
    const world = await ControllerWorld.withExport(["c1", "c2"], () => chance.next());
    const c1 = world.cluster("c1");
    await world.pass(10_000);
    c1.server.fail();
    await world.pass(45_000);
    const seen = new Set<string | undefined>();
    c1.server.objects.listen(() => seen.add(c1.imported()["shop/web"]));
    c1.server.down = false;
    await world.pass(60_000);
    assert.deepEqual([...seen], ["vip 10.1.0.7"]);
  });
}
