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

describe("a tenant with thousands of endpoints that do not exist", () => {
  test("does not make its node leave a cluster that others use", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const world = worldOf(seed);
        for (let i = 0; i < 10; i++) world.serve(`s${i}`, { c2: 100 }, {}, "mallory");
        const nobody = new Set([...world.model.keys()].flatMap((key) => world.endpointsOf(key)));
        world.serve("web", { c2: 2, c3: 2 });
        world.serve("api", { c2: 2, c3: 2 }, {}, "shop");
        world.network = ({ address, port }) => (nobody.has(`${address}:${port}`) ? 0 : 1);
        await world.pass(10_000, 4);
        assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
        assert.ok(!world.words.some((word) => word.includes("cluster")), world.words.join(", "));
        await world.stop();
      }),
      { numRuns: RUNS },
    );
  });

  test("leaves it for its own imports only, if those of one other namespace answer", async () => {
    const world = worldOf(38);
    world.serve("trap", { c2: 10, c3: 1 }, {}, "mallory");
    const nobody = new Set(world.endpointsOf("mallory/trap"));
    world.serve("web", { c2: 2, c3: 2 });
    world.network = ({ address, port }) => (nobody.has(`${address}:${port}`) ? 0 : 1);
    await world.pass(MINUTE, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    assert.equal(world.endpointsOf("demo/web").length, 2);
    assert.deepEqual(world.clustersOf("mallory/trap"), ["c3"], world.words.join(", "));
    await world.stop();
  });

  // With the second and third seed, examinations of the tenant's clusters took every place that became free.
  for (const seed of [32, 103, 116]) {
    test(`nor one with hundreds of clusters delays the verdict on one, and gets a limited number itself (${seed})`, async () => {
      const world = worldOf(seed);
      for (let i = 0; i < 240; i++) world.serve(`s${i}`, { [`c${i + 10}`]: 1 }, {}, "mallory");
      world.serve("web", { c2: 4, c3: 4 });
      const isDown = { c2: false };
      world.network = (_, cluster) =>
        cluster === "c3" || (cluster === "c2" && !isDown.c2) ? 1 : 0;
      await world.pass(15_000, 3);
      assert.ok(world.words.includes("limited mallory"), world.words.slice(-3).join(", "));
      const found = new Set(world.words.filter((word) => word.startsWith("silent"))).size;
      // Those that expire make room for others.
      assert.ok(found <= 2 * 64, `${found}`);
      isDown.c2 = true;
      await world.pass(PATIENCE, 3);
      assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
      await world.stop();
    });
  }

  test("does not delay verdicts on endpoints of others", async () => {
    const world = worldOf(16);
    for (let i = 0; i < 4; i++) world.serve(`s${i}`, { c2: 100 }, {}, "mallory");
    const nobody = new Set([...world.model.keys()].flatMap((key) => world.endpointsOf(key)));
    world.serve("web", { c2: 4, c3: 4 });
    world.serve("api", { c2: 2, c3: 2 }, {}, "shop");
    world.network = ({ address, port }) => (nobody.has(`${address}:${port}`) ? 0 : 1);
    await world.pass(10_000, 20);
    const [dead = ""] = world.endpointsOf("demo/web");
    nobody.add(dead);
    await world.pass(10_000, 20);
    assert.ok(world.words.includes(`silent endpoint ${dead}`));
    await world.pass(40_000, 20);
    // Each of its imports is found as a whole.
    const groups = world.words.filter((word) => word.startsWith("silent group mallory"));
    assert.equal(new Set(groups).size, 4);
    const [next = ""] = world.endpointsOf("demo/web");
    nobody.add(next);
    await world.pass(PATIENCE, 20);
    assert.ok(world.words.includes(`silent endpoint ${next}`), "in its turn, beside hundreds");
    await world.stop();
  });
});

test("a cluster that lists the endpoints of another does not hide its death", async () => {
  const world = worldOf(17);
  world.serve("stolen", { c4: 2 });
  world.serve("web", { c2: 2, c3: 2 });
  const stolen = world.endpointsOf("demo/web").map((one) => one.split(":")[0] ?? "");
  world.list("stolen", "c4", stolen);
  await world.pass(5_000, 10, WEB);
  world.network = (_, cluster) => (cluster === "c3" ? 1 : 0);
  await world.pass(15_000, 10, WEB);
  assert.deepEqual(world.clustersOf("demo/web"), ["c3"], world.words.join(", "));
  assert.ok(world.words.includes("silent cluster c2"), world.words.join(", "));
  await world.stop();
});

test("endpoints beyond the limit of a namespace are probed less and less often", async () => {
  const world = worldOf(35);
  // One import each: endpoints of one import share a verdict.
  const names = Array.from({ length: 80 }, (_, i) => `s${i}`);
  for (const name of names) world.serve(name, { c2: 1 }, {}, "mallory");
  const all = names.flatMap((name) => world.endpointsOf(`mallory/${name}`));
  const nobody = new Set(all.slice(0, 68));
  world.serve("web", { c2: 4, c3: 4 });
  world.network = ({ address, port }) => (nobody.has(`${address}:${port}`) ? 0 : 1);
  await world.pass(2 * MINUTE, 40);
  assert.ok(world.words.includes("limited mallory"));
  const before = world.probes;
  await world.pass(MINUTE, 40);
  const probes = world.probes - before;
  // Of 64 verdicts, each six to eight times; of an examination, sixteen.
  assert.ok(probes <= 64 * 8 + 12 * 16, `${probes}`);
  await world.stop();
});

describe("a tenant that lists one address that answers as a cluster's", () => {
  const LIVE = "10.99.0.1";
  const calm = () => {
    const world = worldOf(37);
    world.serve("web", { c2: 4, c3: 4 });
    world.serve("trap", { c2: 1, c3: 1 }, {}, "mallory");
    world.list("trap", "c2", [LIVE], "mallory");
    return world;
  };
  const die = (world: HealthWorld) => {
    world.network = ({ address }, cluster) => (cluster === "c2" && address !== LIVE ? 0 : 1);
  };

  test("does not keep it in use for others when it dies", async () => {
    const world = calm();
    die(world);
    const died = world.clock.now();
    await world.pass(PATIENCE, 10);
    await world.pass(MINUTE, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"], world.words.join(", "));
    assert.deepEqual(world.endpointsOf("mallory/trap"), [`${LIVE}:8080`]);
    await world.pass(PATIENCE);
    assert.ok(Math.max(...world.waits(died)) <= PATIENCE, "and no connection is lost");
    assert.deepEqual(world.words, ["silent cluster c2"]);
    world.network = () => 1;
    await world.pass(40_000, 10);
    assert.deepEqual(world.words.slice(1), ["ended cluster c2 answered"]);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    await world.stop();
  });

  test("nor if it answers after all of the cluster was found silent", async () => {
    const world = calm();
    await world.pass(PATIENCE, 10);
    world.network = (_, cluster) => (cluster === "c3" ? 1 : 0);
    await world.pass(PATIENCE, 10);
    die(world);
    await world.pass(MINUTE, 10);
    assert.deepEqual(world.words, ["silent cluster c2"]);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    assert.deepEqual(world.endpointsOf("mallory/trap"), [`${LIVE}:8080`]);
    await world.stop();
  });
});

test("who calls an endpoint where policies drop that does not delay the verdict when it dies", async () => {
  for (let seed = 40; seed < 48; seed++) {
    const world = worldOf(seed);
    world.serve("web", { c2: 4, c3: 4 });
    const [closed = ""] = world.endpointsOf("demo/web");
    world.network = ({ address }) => (closed.startsWith(`${address}:`) ? 0 : 1);
    world.ownNetwork = () => 1;
    await world.pass(MINUTE, 20);
    assert.deepEqual(world.words, []);
    world.ownNetwork = undefined;
    await world.pass(7_000, 20);
    assert.deepEqual(world.words, [`silent endpoint ${closed}`]);
    await world.stop();
  }
});
