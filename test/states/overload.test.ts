import assert from "node:assert/strict";
import { describe } from "node:test";
import fc from "fast-check";
import { MINUTE, PATIENCE, test, testAny, WEB } from "./health-test.ts";

testAny(
  "an overload moves from endpoint to endpoint with the load, and stops at half of those that take it",
  [fc.integer({ min: 2, max: 6 }), fc.integer({ min: 0, max: 6 })],
  async (world, ready, terminating) => {
    world.serve("web", { c2: ready, c3: ready });
    world.serve("idle", { c2: 12, c3: 1 });
    const [first = "", ...rest] = world.endpointsOf("demo/web").map((one) => one.slice(0, -5));
    const leaving = Array.from({ length: terminating }, (_, i) => `10.2.1.${i + 101}`);
    const ended = leaving.map((address) => ({ address, condition: "terminating" as const }));
    world.list("web", "c2", [first, ...rest, ...ended]);
    const web = new Set([first, ...rest, ...leaving]);
    // Each endpoint has just the load that it can take; then one of them hangs.
    const isOverloaded = () => world.endpointsOf("demo/web").length < ready;
    let hangs = true;
    world.network = ({ address }) =>
      web.has(address) && hangs && (address === first || isOverloaded()) ? 0 : 1;
    for (let i = 0; i < 30; i++) {
      await world.pass(1_000, 20, WEB);
      assert.deepEqual(world.clustersOf("demo/web"), ["c2"], world.words.join(", "));
    }
    assert.equal(world.endpointsOf("demo/web").length, Math.ceil(ready / 2));
    assert.ok(!world.words.some((word) => word.includes("cluster")), world.words.join(", "));
    hangs = false;
    await world.pass(40_000, 20, WEB);
    assert.equal(world.endpointsOf("demo/web").length, ready);
  },
);

describe("a full backlog, so that an endpoint drops every SYN for a while", () => {
  test("that is accepted again within a second is not noticed", async (world) => {
    world.serve("web", { c2: 4, c3: 4 });
    const [full = ""] = world.endpointsOf("demo/web");
    const isFull = () => world.clock.now() % 10_000 < 700;
    world.network = ({ address }) => (full.startsWith(`${address}:`) && isFull() ? 0 : 1);
    await world.pass(2 * MINUTE, 20);
    assert.deepEqual(world.words, []);
    assert.ok(Math.max(...world.waits(0, MINUTE)) > 1_000, "some SYNs were dropped");
  }, 28);

  testAny(
    "has the endpoint used last until it drains, and its cluster as before; no connection is lost",
    [fc.integer({ min: 4_000, max: 60_000 })],
    async (world, drains) => {
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
    },
  );
});

test("no verdict falls on an overloaded endpoint that answers some", async (world) => {
  world.serve("web", { c2: 1, c3: 1 });
  world.network = (_, cluster) => (cluster === "c2" ? 0.3 : 1);
  await world.pass(MINUTE, 40);
  assert.deepEqual(world.words, []);
}, 7);
