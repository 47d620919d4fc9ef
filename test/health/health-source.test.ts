import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SilentEndpoint, TcpEndpoint } from "../../agent/health/evidence.ts";
import { WatchedEndpoints } from "../../agent/health/watched-endpoints.ts";
import { Chance } from "../generators/chance.ts";
import { HealthWorld } from "../stages/health-world.ts";

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

test("an endpoint that comes and goes is kept last for longer each time", async () => {
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

// With the second and third seed, examinations of the tenant's clusters took every place that became free.
for (const seed of [32, 103, 116]) {
  test(`a tenant with hundreds of clusters does not delay the verdict on one, and gets a limited number itself (${seed})`, async () => {
    const world = worldOf(seed);
    for (let i = 0; i < 240; i++) world.serve(`s${i}`, { [`c${i + 10}`]: 1 }, {}, "mallory");
    world.serve("web", { c2: 4, c3: 4 });
    const isDown = { c2: false };
    world.network = (_, cluster) => (cluster === "c3" || (cluster === "c2" && !isDown.c2) ? 1 : 0);
    await world.pass(15_000, 3);
    assert.ok(world.words.includes("limited mallory"), world.words.slice(-3).join(", "));
    const found = new Set(world.words.filter((word) => word.startsWith("silent"))).size;
    // Those that expire make room for others.
    assert.ok(found <= 2 * 64, `${found}`);
    isDown.c2 = true;
    await world.pass(5_000, 3);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    await world.stop();
  });
}

test("a verdict that the kernel has not taken is told anew, once it does", async () => {
  const world = worldOf(14);
  world.serve("web", { c2: 3, c3: 3 });
  world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
  const add = world.evidence.add.bind(world.evidence);
  world.evidence.add = () => Promise.reject(new Error("no memory"));
  await world.pass(10_000, 10);
  assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
  world.evidence.add = add;
  await world.pass(10_000, 10);
  assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
  await world.stop();
});

test("a verdict that takes long to be kept falls once", async () => {
  const isDead = [
    ({ address }: TcpEndpoint) => address === "10.2.1.1",
    ({ address }: TcpEndpoint) => address.startsWith("10.2."),
  ];
  for (const dead of isDead) {
    const world = worldOf(15);
    world.serve("web", { c2: 4, c3: 4 });
    await world.pass(5_000, 10);
    world.network = (endpoint) => (dead(endpoint) ? 0 : 1);
    const add = world.evidence.add.bind(world.evidence);
    world.evidence.add = (endpoints) =>
      new Promise((resolve) => world.clock.after(3_000, () => resolve(add(endpoints))));
    await world.pass(15_000, 10);
    assert.equal(world.words.length, 1, world.words.join(", "));
    await world.stop();
  }
});

test("what shows a verdict is kept by the kernel: all endpoints that clients call, for as long as it is held", async () => {
  const world = worldOf(26);
  world.serve("web", { c2: 30 });
  world.serve("other", { c2: 8, c3: 1 });
  const [first] = world.endpointsOf("demo/other");
  world.network = ({ address }, cluster) =>
    cluster === "c3" || (cluster === "c2" && !first?.startsWith(`${address}:`)) ? 1 : 0;
  await world.pass(15_000, 10);
  assert.deepEqual(world.words, [`silent endpoint ${first}`]);
  for (let deaths = 1; deaths <= 2; deaths++) {
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(15_000, 40);
    const shown = await world.evidence.silent();
    assert.ok(shown.length >= 30, `${shown.length} endpoints`);
    assert.ok(shown.every(({ scope }) => scope === "cluster"));
    world.network = () => 1;
    if (deaths === 1) await world.pass(40_000, 10);
    if (deaths === 1) assert.deepEqual(await world.evidence.silent(), []);
  }
  await world.stop();
});

test("a verdict that is held is in the kernel again after clients were answered", async () => {
  const world = worldOf(27);
  world.serve("web", { c2: 3 });
  world.serve("other", { c3: 1 });
  const died = async () => {
    await world.pass(5_000, 10);
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(3_500, 20);
    world.network = () => 1;
    await world.pass(2_000, 20);
  };
  await died();
  assert.deepEqual(await world.evidence.silent(), []);
  await died();
  assert.equal(world.words.at(-1), "silent cluster c2");
  await world.pass(1_000);
  assert.equal((await world.evidence.silent()).length, 3);
  await world.stop();
});

test("no more than four verdicts of a cluster are probed at once, also after a restart", async () => {
  const world = worldOf(18);
  world.serve("web", { c2: 100, c3: 1 });
  world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
  await world.evidence.install();
  const dead = world.endpointsOf("demo/web").slice(0, 90);
  await world.evidence.add(
    dead.map((one) => ({
      ...{ address: one.split(":")[0] ?? "", port: 8080 },
      ...{ cluster: "c2", scope: "endpoint", group: "", isShown: true },
      ...{ isPartial: false, isTrial: false, isExpired: false, expires: 300_000 },
    })),
  );
  await world.restart();
  await world.pass(800);
  assert.equal(world.words.length, 90);
  assert.equal(world.probing, 4);
  await world.pass(MINUTE);
  assert.ok(world.probes > 90 && world.probes <= 280, `${world.probes} probes`);
  await world.stop();
});

test("a restart changes nothing of which endpoints of a tier are used last", async () => {
  const world = worldOf(39);
  world.serve("web", { c2: 4, c3: 4 });
  world.serve("other", { c2: 8, c3: 1 });
  const all = world.endpointsOf("demo/web");
  const dead = new Set<string>();
  world.network = ({ address, port }) => (dead.has(`${address}:${port}`) ? 0 : 1);
  await world.pass(5_000, 20);
  for (const one of all.slice(2).reverse()) {
    dead.add(one);
    await world.pass(10_000, 20);
  }
  const before = world.endpointsOf("demo/web");
  assert.deepEqual(before, all.slice(0, 2), world.words.join(", "));
  await world.restart();
  await world.pass(100);
  assert.deepEqual(world.endpointsOf("demo/web"), before);
  await world.stop();
});

test("endpoints that stay silent when their Services answer again have no more verdicts than a namespace may have", async () => {
  const world = worldOf(41);
  const imports = ["demo/web", "demo/api"] as const;
  world.serve("web", { c2: 40 });
  world.serve("api", { c2: 40 });
  world.network = () => 0;
  await world.evidence.install();
  for (const key of imports) {
    await world.evidence.add(
      world.endpointsOf(key).map((one) => ({
        ...{ address: one.split(":")[0] ?? "", port: 8080, cluster: "c2", scope: "group" },
        ...{ group: `${key} c2 IPv4 8080`, isShown: true, isPartial: false, isTrial: false },
        ...{ isExpired: false, expires: 300_000 },
      })),
    );
  }
  const firsts = imports.map((key) => world.endpointsOf(key)[0]?.split(":")[0] ?? "");
  await world.restart();
  await world.pass(1_000);
  for (const address of firsts) world.evidence.accepts({ address, port: 8080 }, "10.1.0.1");
  await world.pass(1_000);
  const present = new Set<string>();
  for (const [what = "", ...name] of world.words.map((word) => word.split(" "))) {
    if (what === "silent") present.add(name.join(" "));
    if (what === "ended") present.delete(name.slice(0, -1).join(" "));
  }
  assert.ok(present.size > 60 && present.size <= 64, `${present.size} verdicts`);
  assert.ok(world.words.includes("limited demo"));
  assert.equal((await world.evidence.silent()).length, present.size);
  await world.stop();
});

/** Elements of verdicts that an earlier run found on all 64 endpoints of each of these groups of a namespace. */
function groupsOf(namespace: string, groups: number, expires: number): SilentEndpoint[] {
  const index = Number(namespace.slice(1));
  return Array.from({ length: groups * 64 }, (_, i) => ({
    ...{ address: `10.9.${index * 8 + (i >> 8)}.${i & 255}`, port: 8080, cluster: "c9" },
    ...{ scope: "group", group: `${namespace}/web-${i >> 6} c9 IPv4 8080`, isShown: true },
    ...{ isPartial: false, isTrial: true, isExpired: false, expires },
  }));
}

test("of verdicts that expire in one check, the kernel remembers 512 endpoints of a namespace, and 4,096 of all", async () => {
  for (const [sizes, remembered] of [
    [
      [12, 1],
      [512, 64],
    ],
    [Array.from({ length: 10 }, () => 8), [...Array.from({ length: 8 }, () => 512), 0, 0]],
  ] as const) {
    const world = worldOf(43);
    world.network = () => 0;
    world.serve("web", { c2: 1 });
    await world.evidence.install();
    for (const [i, groups] of sizes.entries())
      await world.evidence.add(groupsOf(`n${i}`, groups, 5_000));
    await world.restart();
    await world.pass(7_000);
    const found = (await world.evidence.silent()).filter(({ isExpired }) => isExpired);
    const counts = sizes.map((_, i) => found.filter((one) => one.group.startsWith(`n${i}/`)));
    assert.deepEqual(
      counts.map((all) => all.length),
      remembered,
    );
    // Neither those that a restart finds, nor those of later verdicts, add to this.
    await world.evidence.add(
      groupsOf("n0", 20, 5_000).map((one) => ({ ...one, address: `10.8${one.address.slice(4)}` })),
    );
    await world.restart();
    await world.pass(7_000);
    const later = (await world.evidence.silent()).filter(({ isExpired }) => isExpired);
    assert.equal(later.length, found.length);
    await world.stop();
  }
});

test("a check reads the kernel's verdicts once for all that begin in it, and once for those that end", async () => {
  const world = worldOf(44);
  for (let i = 0; i < 12; i++) world.serve(`web-${i}`, { c2: 2 });
  world.ownNetwork = () => 0;
  await world.pass(5_000, 5);
  const silent = world.evidence.silent.bind(world.evidence);
  const reads = new Map<number, number>();
  world.evidence.silent = () => {
    const now = world.clock.now();
    reads.set(now, (reads.get(now) ?? 0) + 1);
    return silent();
  };
  world.network = () => 0;
  await world.pass(5_000, 5);
  const begun = world.words.filter((word) => word.startsWith("silent group"));
  assert.ok(begun.length >= 10, world.words.join(", "));
  assert.equal(Math.max(...reads.values()), 2);
  await world.stop();
});

test("of what the kernel remembers, a verdict shows what has not answered since the check read it", async () => {
  for (const hasAnswered of [false, true]) {
    const world = worldOf(45);
    world.serve("web", { c2: 12 });
    world.ownNetwork = () => 0;
    await world.pass(5_000, 20);
    const address = world.endpointsOf("demo/web").at(-1)?.split(":")[0] ?? "";
    await world.evidence.add([
      {
        ...{ address, port: 8080, cluster: "c2", scope: "endpoint", group: "", isShown: true },
        ...{ isPartial: false, isTrial: true, isExpired: true, expires: 600_000 },
      },
    ]);
    const added: boolean[] = [];
    const add = world.evidence.add.bind(world.evidence);
    world.evidence.add = (all) => {
      added.push(...all.filter((one) => one.address === address).map(({ isShown }) => isShown));
      return add(all);
    };
    const silent = world.evidence.silent.bind(world.evidence);
    world.evidence.silent = async () => {
      const found = await silent();
      if (hasAnswered) world.evidence.accepts({ address, port: 8080 }, undefined);
      return found;
    };
    world.network = () => 0;
    while (added.length === 0) await world.pass(50, 20);
    assert.equal(added[0], !hasAnswered, world.words.join(", "));
    await world.stop();
  }
});
