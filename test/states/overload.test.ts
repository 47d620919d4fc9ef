import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Chance } from "../generators/chance.ts";
import { HealthWorld } from "../stages/health-world.ts";

/** A client waits for so many milliseconds. */
const PATIENCE = 5_000;
const MINUTE = 60_000;
const RUNS = Number(process.env.RUNS ?? 8);
const WEB = ["demo/web"] as const;

function worldOf(seed: number): HealthWorld {
  const chance = new Chance(seed);
  return new HealthWorld(() => chance.next());
}

test("an overload that moves from endpoint to endpoint with the load moves none of another import, comes back ever less often, and ends", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.integer({ min: 2, max: 6 }), async (seed, ready) => {
      const world = worldOf(seed);
      world.serve("web", { c2: ready, c3: ready });
      world.serve("idle", { c2: 12, c3: 1 });
      await world.pass(5_000, 20, WEB);
      const all = world.endpointsOf("demo/web").map((one) => one.slice(0, -5));
      // Each endpoint has just the load that it can take; then one of them hangs.
      const isOverloaded = () => {
        const used = world.endpointsOf("demo/web").filter((one) => one.startsWith("10.2."));
        return used.length > 0 && used.length < ready;
      };
      let hangs = true;
      world.network = ({ address }) =>
        all.includes(address) && hangs && (address === all[0] || isOverloaded()) ? 0 : 1;
      await world.pass(MINUTE, 20, WEB);
      assert.ok(!world.words.some((word) => word.includes("cluster")), world.words.join(", "));
      assert.deepEqual(world.clustersOf("demo/idle"), ["c2"]);
      const verdicts = world.words.filter((word) => word.startsWith("silent"));
      assert.ok(verdicts.length <= 6 * ready, world.words.join(", "));
      hangs = false;
      await world.pass(6 * MINUTE, 2, WEB);
      assert.equal(world.endpointsOf("demo/web").length, ready);
      await world.stop();
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

describe("a full backlog, so that an endpoint drops every SYN for a while", () => {
  test("that is accepted again within a second is not noticed", async () => {
    const world = worldOf(28);
    world.serve("web", { c2: 4, c3: 4 });
    const [full = ""] = world.endpointsOf("demo/web");
    const isFull = () => world.clock.now() % 10_000 < 700;
    world.network = ({ address }) => (full.startsWith(`${address}:`) && isFull() ? 0 : 1);
    await world.pass(2 * MINUTE, 20);
    assert.deepEqual(world.words, []);
    assert.ok(Math.max(...world.waits(0, MINUTE)) > 1_000, "some SYNs were dropped");
    await world.stop();
  });

  test("has the endpoint used last until it drains, and its cluster as before; no connection is lost", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.integer({ min: 4_000, max: 60_000 }),
        async (seed, drains) => {
          const world = worldOf(seed);
          world.serve("web", { c2: 4, c3: 4 });
          const [full = ""] = world.endpointsOf("demo/web");
          world.network = ({ address }) => (full.startsWith(`${address}:`) ? 0 : 1);
          await world.pass(drains, 20);
          assert.deepEqual(world.words, [`silent endpoint ${full}`]);
          assert.equal(world.endpointsOf("demo/web").length, 3);
          world.network = () => 1;
          await world.pass(40_000, 20);
          assert.deepEqual(world.words.slice(1), [`ended endpoint ${full} answered`]);
          assert.equal(world.endpointsOf("demo/web").length, 4);
          await world.pass(PATIENCE);
          assert.ok(Math.max(...world.waits()) <= PATIENCE, `${Math.max(...world.waits())}`);
          await world.stop();
        },
      ),
      { numRuns: RUNS },
    );
  });
});

test("no verdict falls on an overloaded endpoint that answers some", async () => {
  const world = worldOf(7);
  world.serve("web", { c2: 1, c3: 1 });
  world.network = (_, cluster) => (cluster === "c2" ? 0.3 : 1);
  await world.pass(MINUTE, 40);
  assert.deepEqual(world.words, []);
  await world.stop();
});
