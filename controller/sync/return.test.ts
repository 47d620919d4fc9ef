import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ControllerWorld } from "../../test/support/controller-world.ts";

const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

/** Milliseconds until a peer that is back is read (its scout), written by its own controller, and seen here. */
const SOON_MS = 15_000;

test("a cluster whose API server was away for minutes is alive again to its peers within 15 seconds", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 60, max: 240 }), numbers, async (seconds, stream) => {
      const world = new ControllerWorld(["c1", "c2"], () => stream.next().value ?? 0);
      const [c1, c2] = world.clusters;
      assert.ok(c1 && c2);
      for (const cluster of world.clusters) cluster.namespace("shop");
      c1.serve("shop/web", ["10.1.0.7"]);
      c1.export("shop/web");
      world.start();
      await world.pass(20_000);
      c1.server.down = true;
      c1.server.cut();
      await world.pass(seconds * 1000);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7(serving)" });
      c1.server.down = false;
      await world.pass(SOON_MS);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
      await world.stop();
    }),
    { numRuns: Number(process.env.RUNS ?? 4) },
  );
});
