import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TcpEndpoint } from "../../agent/health/evidence.ts";
import { Chance } from "../generators/chance.ts";
import { HealthWorld } from "../stages/health-world.ts";

const MINUTE = 60_000;

function worldOf(seed: number): HealthWorld {
  const chance = new Chance(seed);
  return new HealthWorld(() => chance.next());
}

describe("a verdict that no probe can end, because the node itself cannot connect", () => {
  /** A world in which c2 answers neither clients nor the node. */
  const dead = async (seed: number) => {
    const world = worldOf(seed);
    world.serve("web", { c2: 3, c3: 3 });
    await world.pass(5_000, 10);
    world.ownNetwork = (_, cluster) => (cluster === "c2" ? 0 : 1);
    world.network = world.ownNetwork;
    await world.pass(5_000, 10);
    return world;
  };

  test("is over after five minutes; clients alone decide the next time, and try again after seconds", async () => {
    const world = await dead(12);
    world.network = () => 1;
    await world.pass(4 * MINUTE, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    await world.pass(MINUTE, 10);
    assert.deepEqual(world.words, ["silent cluster c2", "ended cluster c2 expired"]);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    world.network = world.ownNetwork ?? world.network;
    await world.pass(5_000, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    world.network = () => 1;
    await world.pass(10_000, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"], world.words.join(", "));
    await world.stop();
  });

  test("lasts ten minutes the next time, if clients were not answered in between", async () => {
    const world = await dead(12);
    await world.pass(5 * MINUTE + 10_000, 10);
    const silent = ["silent cluster c2", "ended cluster c2 expired", "silent cluster c2"];
    assert.deepEqual(world.words, silent);
    world.network = () => 1;
    await world.pass(9 * MINUTE, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    await world.pass(MINUTE, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    await world.stop();
  });
});

describe("evidence that is not available", () => {
  test("keeps verdicts until they expire, is told, and ends", async () => {
    const world = worldOf(13);
    world.serve("web", { c2: 3, c3: 3 });
    await world.pass(5_000, 10);
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(5_000, 10);
    world.evidence.fault = new Error("no netlink");
    await world.pass(MINUTE, 10);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    world.network = () => 1;
    await world.pass(10 * MINUTE, 1);
    assert.deepEqual(world.clustersOf("demo/web"), ["c2"]);
    world.evidence.fault = undefined;
    await world.pass(6 * MINUTE, 1);
    assert.equal(world.words.at(-1), "available");
    await world.stop();
  });

  test("is not missed while nothing is watched", async () => {
    const world = worldOf(15);
    world.serve("web", { c1: 3 });
    world.node = { ...world.node, health: "remote" };
    world.evidence.fault = new Error("no netlink");
    await world.pass(20_000, 10);
    assert.deepEqual(world.words, []);
    await world.stop();
  });

  test("for a verdict that has just fallen: it is told anew, once it is available", async () => {
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

test("an endpoint that two clusters list is found silent once", async () => {
  const world = worldOf(24);
  world.serve("web", { c2: 4, c3: 4 });
  world.serve("api", { c4: 4 });
  const addresses = [1, 2, 3, 4].map((i) => `10.4.2.${i}`);
  world.list("api", "c4", ["10.2.1.1", ...addresses]);
  world.network = ({ address }) => (address === "10.2.1.1" ? 0 : 1);
  await world.pass(20_000, 20);
  assert.deepEqual(world.words, ["silent endpoint 10.2.1.1:8080"]);
  await world.stop();
});

test("a refusal ends no verdict: where a cluster boots, servers start after the network", async () => {
  const world = worldOf(25);
  world.serve("web", { c2: 3, c3: 3 });
  await world.pass(5_000, 10);
  world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
  await world.pass(5_000, 10);
  world.refusing = new Set(["c2"]);
  await world.pass(MINUTE, 10);
  assert.deepEqual(world.words, ["silent cluster c2"]);
  await world.stop();
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
    assert.ok(shown.every(({ isWhole }) => isWhole));
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

test("verdicts survive that another program deletes the table", async () => {
  const world = worldOf(16);
  world.serve("web", { c2: 3, c3: 3 });
  await world.pass(5_000, 10);
  world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
  await world.pass(7_000, 10);
  world.evidence.flush();
  await world.pass(10_000, 10);
  assert.deepEqual(world.words, ["silent cluster c2"]);
  assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
  world.network = () => 1;
  await world.pass(40_000, 10);
  assert.deepEqual(world.words, ["silent cluster c2", "ended cluster c2 answered"]);
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
      ...{ cluster: "c2", isWhole: false, expires: 300_000 },
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

describe("health that is switched off", () => {
  test("ends verdicts", async () => {
    const world = worldOf(20);
    world.serve("web", { c2: 3, c3: 3 });
    await world.pass(5_000, 10);
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(5_000, 10);
    world.node = { ...world.node, health: "off" };
    await world.pass(6_000, 10);
    assert.deepEqual(world.words, ["silent cluster c2", "ended cluster c2 expired"]);
    await world.stop();
  });

  test("says no more that the uplink is silent", async () => {
    const world = worldOf(21);
    world.serve("web", { c2: 3, c3: 3 });
    await world.pass(5_000, 10);
    world.network = () => 0;
    await world.pass(20_000, 10);
    world.node = { ...world.node, health: "off" };
    await world.pass(6_000, 10);
    const uplink = world.words.filter((word) => word.startsWith("uplink"));
    assert.deepEqual(uplink, ["uplink silent", "uplink answers"]);
    await world.stop();
  });

  test("says nothing of evidence that is not available", async () => {
    const world = worldOf(22);
    world.serve("web", { c2: 3, c3: 3 }, { health: "off" });
    world.evidence.fault = new Error("no nf_tables");
    await world.pass(20_000, 10);
    assert.deepEqual(world.words, []);
    await world.stop();
  });
});

describe("a restart", () => {
  test("changes nothing of which endpoints of a tier are used last", async () => {
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

  test("forgets no verdict", async () => {
    const world = worldOf(11);
    world.serve("web", { c2: 3, c3: 3 });
    world.network = (_, cluster) => (cluster === "c2" ? 0 : 1);
    await world.pass(5_000, 10);
    await world.restart();
    await world.pass(100);
    assert.deepEqual(world.clustersOf("demo/web"), ["c3"]);
    const waits = world.connections.length;
    await world.pass(5_000, 10);
    const after = world.connections.slice(waits);
    assert.ok(after.every(({ begun, established = 0 }) => established - begun < 100));
    await world.stop();
  });
});
