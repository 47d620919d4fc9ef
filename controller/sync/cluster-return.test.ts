import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));

/** Milliseconds until a peer that returned has written its Lease, and is read here. */
const SOON_MS = 15_000;

test("a cluster whose API server was unavailable for minutes is alive again for its peers within 15 seconds", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 60, max: 240 }), numbers, async (seconds, stream) => {
      const world = await ControllerWorld.withExport(["c1", "c2"], () => stream.next().value ?? 0);
      const [c1, c2] = world.clusters;
      await world.pass(15_000);
      c1.server.fail();
      await world.pass(seconds * 1000);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7(serving)" });
      c1.server.down = false;
      await world.pass(SOON_MS);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
    }),
    { numRuns: Number(process.env.RUNS ?? 4) },
  );
});

test("a cluster that returns has its present endpoints, never those from before its failure", async () => {
  await fc.assert(
    fc.asyncProperty(numbers, async (stream) => {
      const world = await ControllerWorld.withExport(["c1", "c2"], () => stream.next().value ?? 0);
      const [c1, c2] = world.clusters;
      await world.pass(15_000);
      c1.server.fail();
      c1.kill();
      await world.pass(60_000);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7(serving)" });
      c1.server.down = false;
      // Kubelets restart pods before a controller is the leader.
      c1.serve("shop/web", ["10.1.0.9"]);
      c1.start();
      const seen = new Set<string | undefined>();
      for (let ms = 0; ms < 20_000; ms += 20) {
        await world.pass(20);
        seen.add(c2.imported()["shop/web"]);
      }
      await world.pass(30_000);
      seen.add(c2.imported()["shop/web"]);
      assert.equal([...seen].at(-1), "vip 10.1.0.9");
      assert.ok(!seen.has("vip 10.1.0.7"), [...seen].join(", "));
    }),
    { numRuns: Number(process.env.RUNS ?? 16) },
  );
});
