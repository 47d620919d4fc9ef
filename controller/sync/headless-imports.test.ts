import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { keyOf } from "../../test/stages/cluster-manifests.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const KEY = "shop/db";
const MINUTE = 60_000;
const HEADLESS = "True Ready Headless: DNS returns its endpoints.";
const ALL = { [KEY]: "no vip 10.1.0.7 10.1.0.8(dead) 10.2.0.7 fd00:10::7" };

/** A Service, headless or with a ClusterIP; the endpoint that ends in 8 is not ready. */
function serve(cluster: MemoryCluster, addresses: readonly string[], isHeadless = true): void {
  const families = addresses.some((one) => one.includes(":")) ? ["IPv4", "IPv6"] : ["IPv4"];
  const dead = addresses.filter((one) => one.endsWith(".8"));
  cluster.serveAs(KEY, addresses, { ports: ["pg 5432"], families, isHeadless, dead });
}

/** Clusters with a headless Service of two families, of which c1 exports first; c3 only imports. */
async function open(onHub = false, ...flags: readonly string[]) {
  const { world, c1, c2, c3 } = ControllerWorld.of(["c1", "c2", "c3"], undefined, onHub);
  for (const cluster of world.clusters) cluster.flags = flags;
  serve(c1, ["10.1.0.7", "10.1.0.8", "fd00:10::7"]);
  serve(c2, ["10.2.0.7"]);
  c1.export(KEY);
  await world.run(20_000);
  c2.export(KEY);
  await world.pass(20_000);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), ALL);
  return { world, c1, c2, c3 };
}

/** Imports without a ready endpoint, by the metric. */
async function withoutReadyEndpoint({ metrics }: MemoryCluster): Promise<number[]> {
  const { values } = await metrics.gauges.nearest.get();
  return values.flatMap(({ labels, value }) =>
    Object.values(labels).includes("none") && value > 0 ? [value] : [],
  );
}

/** Rewrites imported slices of c1 as an earlier release did: ready endpoints only serve. */
function age({ server }: MemoryCluster): void {
  for (const slice of server.objects.list("endpointslices")) {
    const label = "multicluster.kubernetes.io/source-cluster";
    if (at(slice, ["metadata", "labels", label]) !== "c1") continue;
    const endpoints = (slice.endpoints as Record<string, unknown>[]).map((endpoint) => {
      const isReady = at(endpoint, ["conditions", "ready"]) === true;
      const conditions = { ready: false, serving: true, terminating: false };
      return isReady ? { ...endpoint, conditions } : endpoint;
    });
    const owner = "clusterset-controller";
    server.objects.apply("endpointslices", keyOf(slice), { ...slice, endpoints }, owner);
  }
}

for (const onHub of [false, true]) {
  const what = onHub ? "the hub" : "a peer";
  test(`a headless import keeps its endpoints while ${what} is down, says so, and follows what is alive, also if its controller restarts`, async () => {
    const { world, c1, c2, c3 } = await open(onHub);
    const before = [c2, c3].map(({ server }) => server.writes.length);
    (onHub ? world.hub : c1.server)?.fail();
    await world.pass(2 * MINUTE);
    for (const [i, cluster] of [c2, c3].entries()) {
      assert.deepEqual(cluster.imported(), ALL);
      const stale = onHub && cluster === c3 ? "c1, c2" : "c1";
      assert.equal(cluster.ready(KEY), `${HEADLESS} Stale: ${stale}.`);
      assert.deepEqual(cluster.writesAfter(before[i] ?? 0, "endpointslices"), []);
    }
    for (const cluster of [c2, c3]) {
      await cluster.restart();
      for (let seconds = 0; seconds < 90; seconds += 10) {
        await cluster.importsAfter(10_000, ALL);
      }
    }
    assert.match(c2.ready(KEY), /Left out: not-heard\./);
    assert.match(c2.ready(KEY), / Stale: c1\.$/);
    assert.match(c3.ready(KEY), onHub ? / Stale: c1, c2\.$/ : / Stale: c1\.$/);
    serve(c2, ["10.2.0.9"]);
    await c2.importsAfter(10_000, { [KEY]: ALL[KEY].replace("10.2.0.7", "10.2.0.9") });
    if (onHub && world.hub) world.hub.down = false;
    c1.server.down = false;
    await world.pass(2 * MINUTE);
    for (const cluster of world.clusters) assert.equal(cluster.ready(KEY), HEADLESS);
  });
}

test("the names of the only exported Service stay while a control plane that returns reports its pods unready", async () => {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"]);
  const addresses = ["10.1.0.7", "10.1.0.9"];
  const report = (dead: readonly string[]) =>
    c1.serveAs(KEY, addresses, { ports: ["pg 5432"], isHeadless: true, dead });
  report([]);
  c1.export(KEY);
  await world.run(30_000);
  c1.server.fail();
  await world.pass(2 * MINUTE);
  c1.server.down = false;
  report(addresses);
  for (let seconds = 0; seconds < 12; seconds += 2) {
    await c2.importsAfter(2_000, { [KEY]: "no vip 10.1.0.7 10.1.0.9" });
  }
  report([]);
  await world.pass(2 * MINUTE);
  report(addresses);
  await c2.importsAfter(
    5_000,
    { [KEY]: "no vip 10.1.0.7(dead) 10.1.0.9(dead)" },
    "later it counts",
  );
});

test("a headless import keeps its endpoints while its cluster or a peer is drained, in every cluster and without a window", async () => {
  const { world, c1, c2, c3 } = await open(false, "--drain-window", "60s");
  c1.annotate(world.drain(10));
  await world.pass(5000);
  c2.annotate(world.drain(10));
  await world.pass(40_000);
  for (const cluster of [c1, c2, c3]) {
    assert.deepEqual(cluster.imported(), ALL);
    assert.match(cluster.ready(KEY), / Drained: c1 until .*, c2 until [^.]*\./);
    assert.deepEqual(new Set(cluster.shifts(KEY)), new Set([undefined]));
  }
  await c3.restart();
  c1.server.fail();
  await c3.importsAfter(2 * MINUTE, ALL);
  assert.match(c3.ready(KEY), / Stale: c1\. Drained: c1 until .*, c2 until [^.]*\./);
});

for (const restarts of [false, true]) {
  const when = restarts ? ", also if its controller restarts" : "";
  test(`endpoints of a stale cluster are a last resort while its import has a VIP, and ready while it is headless${when}`, async () => {
    const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"]);
    serve(c2, ["10.2.0.7"], false);
    serve(c1, ["10.1.0.7", "10.1.0.8"]);
    c2.export(KEY);
    await world.run(20_000);
    c1.export(KEY);
    await world.pass(20_000);
    c1.server.fail();
    await world.pass(MINUTE);
    const last = { [KEY]: "vip 10.1.0.7(serving) 10.1.0.8(dead) 10.2.0.7" };
    assert.deepEqual(c2.imported(), last);
    if (restarts) await c2.restart();
    await world.pass(MINUTE);
    serve(c2, ["10.2.0.7"], true);
    await c2.importsAfter(10_000, { [KEY]: "no vip 10.1.0.7 10.1.0.8(dead) 10.2.0.7" });
    if (restarts) await c2.restart();
    await world.pass(MINUTE);
    serve(c2, ["10.2.0.7"], false);
    await c2.importsAfter(10_000, last);
  });
}

for (const onHub of [false, true]) {
  const what = onHub ? "the hub" : "a peer";
  test(`after an upgrade from a release that marked them while ${what} is down, endpoints of a headless import are ready again`, async () => {
    const { world, c1, c3 } = await open(onHub);
    await c3.stop();
    (onHub ? world.hub : c1.server)?.fail();
    age(c3);
    assert.notDeepEqual(c3.imported(), ALL);
    c3.start();
    await c3.importsAfter(MINUTE, ALL);
  });
}

test("no Event and no metric says that a headless Service has no ready endpoint while its cluster is stale", async () => {
  const { world, c1, c2, c3 } = await open();
  serve(c2, []);
  await world.pass(10_000);
  c1.server.fail();
  await world.pass(MINUTE);
  assert.deepEqual(await withoutReadyEndpoint(c3), []);
  await c3.restart();
  await world.pass(2 * MINUTE);
  assert.deepEqual(await withoutReadyEndpoint(c3), []);
  assert.deepEqual(c3.events("ServiceImport", "NoReadyEndpoint"), []);
});
