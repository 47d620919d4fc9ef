import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FINE, type MemoryApiServer } from "../../test/doubles/memory/memory-api-server.ts";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { anyChance, Chance } from "../../test/generators/chance.ts";
import { forMany } from "../../test/generators/for-all.ts";

import { ControllerWorld } from "../../test/stages/controller-world.ts";
import { LEASE_CHOICE, leaseTimes } from "../liveness/lease-times.ts";

const SERVICES: Readonly<Record<string, readonly string[]>> = {
  "shop/api": ["10.1.0.1", "10.1.0.2"],
  "shop/web": ["10.1.0.3"],
};

/** Two clusters; the first one exports both Services, and no readiness is held back any more. */
async function begin() {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"]);
  for (const [key, addresses] of Object.entries(SERVICES)) c1.offer(key, addresses);
  await world.run(60_000);
  assert.deepEqual(c2.imported(), all(""));
  /** The API server of the first cluster does not answer; its watches stay open without events. */
  const standStill = async (ms: number) => {
    c1.server.weather = { delay: 1e12, lost: 0 };
    await world.pass(ms);
    c1.server.weather = FINE;
  };
  /** Sets the state of all endpoints. */
  const turn = (state: "dead" | "ready") => {
    for (const [key, addresses] of Object.entries(SERVICES)) {
      c1.serve(key, addresses, state === "dead" ? addresses : []);
    }
  };
  return { world, c1, c2, standStill, turn };
}

/** The imports if all endpoints have this state. */
function all(state: "" | "(dead)" | "(serving)"): Record<string, string> {
  return Object.fromEntries(
    Object.entries(SERVICES).map(([key, addresses]) => [
      key,
      ["vip", ...addresses.map((address) => `${address}${state}`)].join(" "),
    ]),
  );
}

for (const seconds of [8, 20, 60]) {
  test(`after a pause of the API server of ${seconds} s, endpoints that it reports unready are serving until they are ready`, async () => {
    const { c2, standStill, turn } = await begin();
    await standStill(seconds * 1000);
    turn("dead");
    await c2.importsAfter(10_000, all("(serving)"));
    turn("ready");
    await c2.importsAfter(1000, all(""));
  });
}

test("endpoints that another product adds for other clusters do not count as ready after a pause", async () => {
  const { world, c1, c2, standStill, turn } = await begin();
  const labels = { "multicluster.kubernetes.io/source-cluster": "c9" };
  const addresses = [1, 2, 3, 4].map((n) => `10.9.0.${n}`);
  c1.slice("shop/web-of-c9", addresses, { labels });
  await world.pass(1000);
  await standStill(20_000);
  turn("dead");
  await c2.importsAfter(10_000, all("(serving)"));
});

/** Milliseconds until peers watch a cluster that returned, 11 s at most, and it has renewed its Lease twice. */
const SOON_MS = 16_000;

test("a cluster whose API server was unavailable for minutes is alive again for its peers within 16 seconds", () =>
  forMany(
    Number(process.env.RUNS ?? 4),
    [fc.integer({ min: 60, max: 240 }), anyChance],
    async (seconds, chance) => {
      const { world, c1, c2 } = await ControllerWorld.withExport(["c1", "c2"], chance);
      await world.pass(15_000);
      c1.server.fail();
      await c2.importsAfter(seconds * 1000, { "shop/web": "vip 10.1.0.7(serving)" });
      c1.server.down = false;
      await c2.importsAfter(SOON_MS, { "shop/web": "vip 10.1.0.7" });
    },
    [[61, () => 0.99]],
  ));

test("a cluster that returns has its present endpoints, never those from before its failure", () =>
  forMany(Number(process.env.RUNS ?? 16), [anyChance], async (chance) => {
    const { world, c1, c2 } = await ControllerWorld.withExport(["c1", "c2"], chance);
    await world.pass(15_000);
    c1.server.fail();
    c1.kill();
    await c2.importsAfter(60_000, { "shop/web": "vip 10.1.0.7(serving)" });
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
  }));

test("a cluster that returns without its objects has none of its endpoints used from before its failure", async () => {
  const { world, c1, c2 } = await ControllerWorld.withExport(["c1", "c2"], () => 0.5);
  await world.pass(15_000);
  c1.server.fail();
  c1.kill();
  await world.pass(60_000);
  c1.server.objects.restore({ version: c1.server.objects.version, stored: new Map() });

  for (const name of ["kube-system", "clusterset-proxy"]) c1.namespace(name);
  c1.server.down = false;
  c1.introduce("c2");
  c1.start();
  const seen = new Set<string | undefined>();
  for (let ms = 0; ms < 120_000; ms += 100) {
    await world.pass(100);
    seen.add(c2.imported()["shop/web"]);
  }
  assert.deepEqual([...seen], ["vip 10.1.0.7(serving)", undefined]);
});

for (const seed of [1, 2, 3, 4, 5]) {
  test(`after an outage of its own API server, a cluster never uses its own endpoints as a last resort (seed ${seed})`, async () => {
    const chance = new Chance(seed);
    const { world } = await ControllerWorld.withExport(["c1", "c2"], () => chance.next());
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

test("two outages of the API server that are shorter than a leader's term are logged once each", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1"], () => 0.5);
  const logged = () => c1.log.filter((line) => line.startsWith("Cannot reach the election Lease"));
  await world.pass(10_000);
  for (const outages of [1, 2]) {
    c1.server.fail();
    await world.pass(6_000);
    c1.server.down = false;
    await world.pass(30_000);
    assert.equal(logged().length, outages);
  }
});

/** The Lease of c1 in its registry. */
const CLUSTER_LEASE = "clusterset-registry-c1/cluster";
test("after a leader is killed right before a renewal, another replica takes over before the cluster is stale, for any --lease-duration", async () => {
  const seconds = fc.oneof(
    fc.constantFrom(LEASE_CHOICE.least, 7, 30),
    fc.integer({ min: 6, max: 60 }),
  );
  await forMany(
    Number(process.env.RUNS ?? 5),
    [seconds, fc.nat(999), anyChance],
    async (leaseSeconds, part, chance) => {
      const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"], chance);
      world.leaseSeconds = leaseSeconds;
      c1.offer("shop/web", ["10.1.0.7"]);
      await world.run(5000);
      c1.start();
      await world.pass(leaseSeconds * (1000 + part));
      const renewals = () => c1.server.writes.filter(({ key }) => key === CLUSTER_LEASE).length;
      for (const before = renewals(); renewals() === before; ) await world.pass(10);
      await world.pass(leaseTimes(leaseSeconds).renewEvery - 50);
      c1.kill();
      c1.serve("shop/web", ["10.1.0.8"]);
      await world.pass(leaseSeconds * 1000);
      assert.equal(c1.controller?.permission.isGranted, true);
      assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.8" });
      await world.pass(leaseSeconds * 500);
      const stale = c2.log.filter((line) => line.includes("Cluster is stale"));
      assert.deepEqual(stale, []);
    },
  );
});

/** etcd without space accepts deletions only; an API server responds with an internal error. */
function fill(server: MemoryApiServer): void {
  server.admitWrite = ({ method }) => {
    if (method !== "DELETE") throw new Refusal(500, "etcdserver: mvcc: database space exceeded");
  };
}

test("the hub's etcd has no space: withdrawals go on, exports say why others do not, until there is space", async () => {
  const { world, c1, c2, hub } = ControllerWorld.withHub(["c1", "c2"]);
  const many = Array.from({ length: 150 }, (_, i) => `10.1.1.${i}`);
  for (const key of ["shop/gone", "shop/web"]) c1.offer(key, many);
  await world.run(20_000);
  fill(hub);
  c1.delete("ServiceExport", "shop/gone");
  // Of two slices the first one goes.
  c1.serve("shop/web", many.slice(100));
  c1.offer("shop/new", ["10.1.0.9"]);
  await c2.importsAfter(10_000, { "shop/web": ["vip", ...many.slice(100).sort()].join(" ") });
  const ready = () => c1.ready("shop/new", "serviceexports");
  assert.match(ready(), /^False Failed .* write-failed: .*database space exceeded/);
  assert.ok((c1.controller?.oldestChange ?? 0) > 9_000);
  hub.admitWrite = () => {};
  await c2.importAfter(20_000, "shop/new", "vip 10.1.0.9");
});

test("the etcd of an importing cluster has no space: withdrawals go on while it has a leader", async () => {
  const { world, c1, c2 } = await ControllerWorld.withExport(["c1", "c2"], () => 0.5);
  c1.offer("shop/gone", ["10.1.0.7"]);
  await world.pass(20_000);
  fill(c2.server);
  c1.delete("ServiceExport", "shop/gone");
  await c2.importsAfter(3000, { "shop/web": "vip 10.1.0.7" });
  await world.pass(30_000);
  assert.equal(c2.controller?.permission.isGranted, false);
});
