import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { WatchedEndpoints } from "../../agent/health/watched-endpoints.ts";
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

describe("a cluster dies", () => {
  test("and every client that waits five seconds is served, new ones by the next cluster after three", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 30 }),
        async (seed, endpoints, calls) => {
          const world = worldOf(seed);
          world.serve("web", { c2: endpoints, c3: endpoints });
          await world.pass(4_000, calls);
          world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
          const died = world.clock.now();
          await world.pass(PATIENCE, calls);
          await world.pass(PATIENCE, 0);
          assert.ok(Math.max(0, ...world.waits()) <= PATIENCE, `${Math.max(...world.waits())}`);
          if (world.waits(died).length > 3) assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
          const first = world.connections.find(({ begun }) => begun >= died)?.begun ?? died;
          assert.ok(world.waits(first + 3_000, first + PATIENCE).every((wait) => wait < 100));
          await world.stop();
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("and all its endpoints in all imports are used last, after as many probes as for one import", async () => {
    const world = worldOf(1);
    for (let i = 0; i < 200; i++) world.serve(`s${i}`, { c2: 2, c3: 2 });
    world.serve("web", { c2: 2, c3: 2 });
    await world.pass(3_000, 5, WEB);
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(4_000, 5, WEB);
    assert.deepEqual(world.words, ["silent cluster c2"]);
    for (const key of world.model.keys()) assert.deepEqual(world.clustersOf(key), ["c3"]);
    const found = world.probes;
    assert.ok(found <= 14, `${found} probes`);
    await world.pass(MINUTE, 5, WEB);
    assert.ok(world.probes - found <= 48, `${world.probes - found} probes in a minute`);
    await world.stop();
  });

  test("and returns as soon as a probe is answered", async () => {
    const world = worldOf(2);
    world.serve("web", { c2: 3, c3: 3 });
    await world.pass(3_000, 5);
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(20_000, 5);
    world.network = () => 1;
    await world.pass(30_000, 5);
    assert.deepEqual(world.words, ["silent cluster c2", "ended cluster c2 answered"]);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    await world.stop();
  });

  test("and is used all the same where no other has endpoints; the first answer to a client ends the verdict", async () => {
    const world = worldOf(3);
    world.serve("web", { c2: 3 });
    world.serve("other", { c3: 1 });
    await world.pass(3_000, 5, WEB);
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(15_000, 5, WEB);
    assert.deepEqual(world.words, ["silent cluster c2"]);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    world.ownNetwork = world.network;
    world.network = () => 1;
    await world.pass(1_000, 20, WEB);
    assert.deepEqual(world.words.slice(1), ["ended cluster c2 answered"]);
    await world.stop();
  });
});

describe("one endpoint dies", () => {
  test("and is used last, while its cluster is used as before", async () => {
    const world = worldOf(4);
    world.serve("web", { c2: 4, c3: 4 });
    const [dead = ""] = world.endpointsOf("demo/web");
    world.network = ({ address }) => (dead.startsWith(`${address}:`) ? 0 : 1);
    await world.pass(10_000, 10);
    assert.deepEqual(world.words, [`silent endpoint ${dead}`]);
    assert.equal(world.endpointsOf("demo/web").length, 3);
    assert.ok(Math.max(...world.waits(0, 5_000)) <= PATIENCE);
    world.network = () => 1;
    await world.pass(40_000, 10);
    assert.equal(world.endpointsOf("demo/web").length, 4);
    await world.stop();
  });

  test("and with it more than half of its tier: the rest has it all", async () => {
    const world = worldOf(5);
    world.serve("web", { c2: 4, c3: 4 });
    world.serve("other", { c2: 4, c3: 4 });
    const dead = new Set(world.endpointsOf("demo/web").slice(0, 3));
    world.network = ({ address, port }) => (dead.has(`${address}:${port}`) ? 0 : 1);
    await world.pass(20_000, 10);
    assert.equal(world.words.length, 3, world.words.join(", "));
    assert.ok(world.words.every((word) => word.startsWith("silent endpoint")));
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    assert.equal(world.endpointsOf("demo/web").length, 1);
    await world.stop();
  });

  test("and comes and goes: it is kept last for longer each time", async () => {
    const world = worldOf(6);
    world.serve("web", { c2: 4, c3: 4 });
    const [flapping = ""] = world.endpointsOf("demo/web");
    const isDown = () => Math.floor(world.clock.now() / 20_000) % 2 === 0;
    world.network = ({ address }) => (flapping.startsWith(`${address}:`) && isDown() ? 0 : 1);
    await world.pass(10 * MINUTE, 10);
    const begins = world.words.filter((word) => word.startsWith("silent")).length;
    // Down fifteen times.
    assert.ok(begins >= 3 && begins <= 8, `${begins} verdicts`);
    await world.stop();
  });
});

test("a path of one node only: it leaves the cluster, other nodes do not, and probe it once to learn whether probes reach it", async () => {
  const nodes = [worldOf(29), worldOf(30)] as const;
  const [cutOff, other] = nodes;
  for (const node of nodes) node.serve("web", { c2: 3, c3: 3 });
  for (const node of nodes) await node.pass(3_000, 10);
  cutOff.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
  for (const node of nodes) await node.pass(15_000, 10);
  assert.deepEqual(cutOff.clustersOf("demo/web"), ["c3"]);
  assert.deepEqual(other.clustersOf("demo/web"), ["c2"]);
  assert.deepEqual([other.words, other.probes], [[], 1]);
  cutOff.network = () => 1;
  for (const node of nodes) await node.pass(40_000, 10);
  assert.deepEqual(cutOff.words, ["silent cluster c2", "ended cluster c2 answered"]);
  assert.deepEqual(cutOff.clustersOf("demo/web"), ["c2"]);
  for (const node of nodes) await node.stop();
});

describe("no verdict", () => {
  test("on a cluster falls while a path loses one packet in five, and none on an endpoint lasts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 1, max: 10 }), async (seed, calls) => {
        const world = worldOf(seed);
        world.serve("web", { c2: 8, c3: 8 });
        // Of a SYN and its answer, one in five is lost each.
        world.network = () => 0.64;
        await world.pass(MINUTE, calls);
        assert.ok(!world.words.some((word) => word.includes("cluster")), world.words.join(", "));
        world.network = () => 1;
        await world.pass(40_000, calls);
        assert.equal(world.endpointsOf("demo/web").length, 8);
        await world.stop();
      }),
      { numRuns: RUNS },
    );
  });

  test("on a cluster falls where a third of it is dead, such as a zone", async () => {
    for (let seed = 100; seed < 104; seed++) {
      const world = worldOf(seed);
      for (let i = 0; i < 6; i++) world.serve(`s${i}`, { c2: 20, c3: 20 });
      const all = [...world.model.keys()].flatMap((key) => world.endpointsOf(key));
      const dead = new Set(all.filter((_, i) => i % 3 === 0));
      world.network = ({ address, port }) => (dead.has(`${address}:${port}`) ? 0 : 1);
      await world.pass(15_000, 10);
      const silent = world.words.filter((word) => word.startsWith("silent"));
      assert.ok(silent.length > 0 && silent.every((word) => word.startsWith("silent endpoint")));
      await world.stop();
    }
  });

  test("falls in a cluster whose policies drop the connections of nodes, and one client's, but not those of others", async () => {
    const world = worldOf(34);
    world.serve("web", { c2: 3, c3: 3 });
    world.serve("closed", { c2: 1, c3: 1 });
    const [closed = ""] = world.endpointsOf("demo/closed");
    world.network = ({ address }) => (closed.startsWith(`${address}:`) ? 0 : 1);
    world.ownNetwork = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(6_000, 20, WEB);
    await world.pass(MINUTE, 20);
    assert.deepEqual(world.words, []);
    assert.equal(world.endpointsOf("demo/web").length, 3);
    await world.stop();
  });

  test("falls on an endpoint that answers the node, but no client; it is probed less and less often", async () => {
    const world = worldOf(36);
    world.serve("web", { c2: 4, c3: 4 });
    const [closed = ""] = world.endpointsOf("demo/web");
    world.network = ({ address }) => (closed.startsWith(`${address}:`) ? 0 : 1);
    world.ownNetwork = () => 1;
    await world.pass(MINUTE, 20);
    const before = world.probes;
    assert.ok(before > 0);
    await world.pass(MINUTE, 20);
    assert.deepEqual(world.words, []);
    // Sixteen of an examination.
    assert.ok(world.probes - before <= 5 * 16, `${world.probes - before} probes`);
    await world.stop();
  });

  test("lasts after the node's own uplink was at fault, which is reported once", async () => {
    const world = worldOf(8);
    world.serve("web", { c2: 3, c3: 3 });
    world.serve("api", { c3: 3, c4: 3 });
    await world.pass(5_000, 10);
    world.network = () => 0;
    await world.pass(20_000, 10);
    const uplink = () => world.words.filter((word) => word.startsWith("uplink"));
    assert.deepEqual(uplink(), ["uplink silent"]);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"], "the nearest, as before");
    world.network = () => 1;
    await world.pass(20_000, 10);
    assert.deepEqual(uplink(), ["uplink silent", "uplink answers"]);
    assert.equal(world.endpointsOf("demo/web").length, 3);
    await world.stop();
  });

  test("and one probe of each busy service in a minute, while everything answers, and none of thousands of idle ones", async () => {
    const world = worldOf(9);
    for (let i = 0; i < 1_000; i++) world.serve(`s${i}`, { c2: 2, c3: 2 });
    await world.pass(10_000, 20, ["demo/s1", "demo/s2"]);
    assert.deepEqual(world.words, []);
    assert.equal(world.probes, 2);
    await world.stop();
  });

  test("falls on endpoints of this cluster, nor for an import that is off", async () => {
    const world = worldOf(10);
    world.serve("local", { c1: 2, c2: 2 });
    world.serve("off", { c2: 2, c3: 2 }, { health: "off" });
    world.serve("web", { c3: 2 });
    world.network = (_, cluster) => (cluster === "c3" ? 1 : 0);
    await world.pass(10_000, 5);
    assert.deepEqual(world.clustersOf("demo/local"), ["c1"]);
    assert.deepEqual(world.clustersOf("demo/off"), ["c2"]);
    await world.stop();
  });
});

test("a cluster dies after many of its endpoints, of one namespace: all of it is found silent", async () => {
  const world = worldOf(33);
  world.serve("web", { c2: 200, c3: 2 });
  const dead = new Set(world.endpointsOf("demo/web").slice(0, 70));
  world.network = ({ address, port }) => (dead.has(`${address}:${port}`) ? 0 : 1);
  await world.pass(MINUTE, 40);
  assert.ok(world.words.includes("limited demo"));
  assert.ok(!world.words.includes("silent cluster c2"));
  world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
  await world.pass(PATIENCE, 40);
  assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
  await world.stop();
});

test("endpoints of unknown origin that are all silent are used last, if they are watched", async () => {
  const world = worldOf(19);
  world.serve("web", { "": 3, c3: 3 }, { health: "all" });
  world.serve("busy", { "": 1 }, { health: "all" });
  await world.pass(5_000, 10);
  world.network = (_, cluster) => (cluster === "" ? 0 : 1);
  await world.pass(5_000, 10);
  assert.deepEqual(world.words, ["silent cluster "]);
  assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
  await world.stop();
});

test("endpoints that are not watched are looked up less and less often", async (context) => {
  const lookUp = context.mock.method(WatchedEndpoints.prototype, "groupsOf");
  const world = worldOf(23);
  world.serve("off", { c2: 2 }, { health: "off" });
  world.serve("web", { c3: 1 });
  world.network = (_, cluster) => (cluster === "c3" ? 1 : 0);
  await world.pass(2 * MINUTE, 10);
  const times = lookUp.mock.callCount();
  assert.ok(times > 0 && times < 40, `${times} times`);
  await world.stop();
});

test("after any history in which everything answers at the end, everything is used as before", async () => {
  const states = fc.constantFrom(0, 0, 0.3, 0.9, 1, 1);
  const step = fc.record({
    loss: fc.tuple(states, states, states),
    endpoint: states,
    event: fc.constantFrom("none", "restart", "flush", "fault"),
    ms: fc.integer({ min: 500, max: 20_000 }),
    calls: fc.integer({ min: 0, max: 20 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer(),
      fc.array(step, { minLength: 1, maxLength: 6 }),
      async (seed, history) => {
        const world = worldOf(seed);
        world.serve("web", { c2: 4, c3: 2, c4: 1 });
        world.serve("api", { c1: 2, c3: 5 });
        for (const { loss, endpoint, event, ms, calls } of history) {
          world.network = ({ address }, cluster) =>
            cluster === "c1"
              ? 1
              : (address.endsWith(".1") ? endpoint : 1) * (loss[Number(cluster.slice(1)) - 2] ?? 1);
          world.evidence.fault = event === "fault" ? new Error("no netlink") : undefined;
          if (event === "flush") world.evidence.flush();
          if (event === "restart") await world.restart();
          await world.pass(ms, calls);
          assert.ok(world.endpointsOf("demo/web").length > 0, "never without an endpoint");
          assert.deepEqual(world.clustersOf("demo/api"), ["c1"]);
        }
        world.evidence.fault = undefined;
        world.network = () => 1;
        await world.pass(6 * MINUTE, 1);
        assert.equal(world.endpointsOf("demo/web").length, 4, world.words.join(", "));
        assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
        await world.stop();
      },
    ),
    { numRuns: RUNS },
  );
});
