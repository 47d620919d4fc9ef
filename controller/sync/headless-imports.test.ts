import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const KEY = "shop/db";
const DRAIN = "clusterset-proxy.io/drain";
const MINUTE = 60_000;
const HEADLESS = "Headless: DNS returns its endpoints.";
const ALL = { [KEY]: "no vip 10.1.0.7 10.1.0.8(dead) 10.2.0.7 fd00:10::7" };

/** A Service for pods with hostnames, headless or with a ClusterIP. */
function serve(cluster: MemoryCluster, addresses: readonly string[], isHeadless = true): void {
  const [namespace, name] = ["shop", "db"];
  const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];
  cluster.apply({
    kind: "Service",
    metadata: { namespace, name },
    spec: {
      type: "ClusterIP",
      clusterIP: isHeadless ? "None" : "10.96.0.9",
      ipFamilies: addresses.some((one) => one.includes(":")) ? ["IPv4", "IPv6"] : ["IPv4"],
      ports,
    },
  });
  for (const addressType of ["IPv4", "IPv6"]) {
    const own = addresses.filter((one) => one.includes(":") === (addressType === "IPv6"));
    cluster.apply({
      kind: "EndpointSlice",
      metadata: {
        namespace,
        name: `${name}-${addressType.toLowerCase()}`,
        labels: { "kubernetes.io/service-name": name },
      },
      addressType,
      ports,
      endpoints: own.map((address, i) => ({
        addresses: [address],
        conditions: { ready: !address.endsWith(".8") },
        hostname: `db-${i}`,
      })),
    });
  }
}

/** Clusters with a headless Service of two families, of which c1 exports first; c3 only imports. */
async function open(onHub = false, ...flags: readonly string[]) {
  const world = onHub
    ? ControllerWorld.withHub(["c1", "c2", "c3"])
    : new ControllerWorld(["c1", "c2", "c3"]);
  const [c1, c2, c3] = world.clusters;
  for (const cluster of world.clusters) {
    cluster.flags = flags;
    cluster.namespace("shop");
  }
  serve(c1, ["10.1.0.7", "10.1.0.8", "fd00:10::7"]);
  serve(c2, ["10.2.0.7"]);
  c1.export(KEY);
  await world.run(20_000);
  c2.export(KEY);
  await world.pass(20_000);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), ALL);
  return { world, c1, c2, c3 };
}

const messageOf = (cluster: MemoryCluster) => cluster.condition("serviceimports", KEY).message;

function drain(world: ControllerWorld, { id, server }: MemoryCluster, minutes: number): void {
  const name = "cluster.clusterset.k8s.io";
  const from = new Date(Date.UTC(2026, 5, 1) + world.clock.now()).toISOString();
  const annotations = { [DRAIN]: `from=${from}; for=${minutes}m` };
  const manifest = {
    kind: "ClusterProperty",
    metadata: { name, annotations },
    spec: { value: id },
  };
  server.objects.apply("clusterproperties", name, manifest, "author");
}

function sliceWrites(cluster: MemoryCluster, since: number): number {
  return cluster.writesAfter(since).filter(({ kind }) => kind === "endpointslices").length;
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
    const name = `shop/${String(at(slice, ["metadata", "name"]))}`;
    server.objects.apply("endpointslices", name, { ...slice, endpoints }, "clusterset-controller");
  }
}

test("a headless import keeps its endpoints while a peer's API server is down, and its condition names the peer", async () => {
  const { world, c1, c2, c3 } = await open();
  const before = [c2, c3].map(({ server }) => server.writes.length);
  c1.server.fail();
  await world.pass(2 * MINUTE);
  for (const [i, cluster] of [c2, c3].entries()) {
    assert.deepEqual(cluster.imported(), ALL);
    assert.equal(messageOf(cluster), `${HEADLESS} Stale: c1.`);
    assert.equal(sliceWrites(cluster, before[i] ?? 0), 0);
  }
  c1.server.down = false;
  await world.pass(2 * MINUTE);
  for (const cluster of world.clusters) {
    assert.deepEqual(cluster.imported(), ALL);
    assert.equal(messageOf(cluster), HEADLESS);
  }
});

test("a headless import keeps its endpoints while the hub is down", async () => {
  const { world } = await open(true);
  world.hub?.fail();
  await world.pass(2 * MINUTE);
  for (const cluster of world.clusters) {
    assert.deepEqual(cluster.imported(), ALL);
    const peers = ["c1", "c2"].filter((id) => id !== cluster.id);
    assert.equal(messageOf(cluster), `${HEADLESS} Stale: ${peers.join(", ")}.`);
  }
});

for (const onHub of [false, true]) {
  const what = onHub ? "the hub" : "a peer";
  test(`a headless import keeps its endpoints if its controller restarts while ${what} is down, and follows what is alive`, async () => {
    const { world, c1, c2, c3 } = await open(onHub);
    (onHub ? world.hub : c1.server)?.fail();
    await world.pass(MINUTE);
    for (const cluster of [c2, c3]) {
      await cluster.restart();
      for (let seconds = 0; seconds < 90; seconds += 10) {
        await world.pass(10_000);
        assert.deepEqual(cluster.imported(), ALL);
      }
    }
    assert.match(String(messageOf(c2)), /Left out: not-heard\./);
    if (!onHub) assert.match(String(messageOf(c2)), / Stale: c1\.$/);
    serve(c2, ["10.2.0.9"]);
    await world.pass(10_000);
    assert.deepEqual(c2.imported(), { [KEY]: ALL[KEY].replace("10.2.0.7", "10.2.0.9") });
    if (onHub && world.hub) world.hub.down = false;
    c1.server.down = false;
    await world.pass(2 * MINUTE);
    for (const cluster of world.clusters) assert.equal(messageOf(cluster), HEADLESS);
  });
}

test("a headless import keeps its endpoints while its cluster or a peer is drained, in every cluster and without a window", async () => {
  const { world, c1, c2, c3 } = await open(false, "--drain-window", "60s");
  drain(world, c1, 10);
  await world.pass(5000);
  drain(world, c2, 10);
  await world.pass(40_000);
  for (const cluster of [c1, c2, c3]) {
    assert.deepEqual(cluster.imported(), ALL);
    assert.match(String(messageOf(cluster)), / Drained: c1 until \S+, c2 until \S+\.$/);
    assert.deepEqual(new Set(cluster.shifts()), new Set([undefined]));
  }
  await c3.restart();
  c1.server.fail();
  await world.pass(2 * MINUTE);
  assert.deepEqual(c3.imported(), ALL);
  assert.match(String(messageOf(c3)), / Stale: c1\. Drained: c1 until \S+, c2 until \S+\.$/);
});

for (const restarts of [false, true]) {
  const when = restarts ? ", also if its controller restarts" : "";
  test(`endpoints of a stale cluster are a last resort while its import has a VIP, and ready while it is headless${when}`, async () => {
    const world = new ControllerWorld(["c1", "c2"]);
    const [c1, c2] = world.clusters;
    for (const cluster of world.clusters) cluster.namespace("shop");
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
    await world.pass(10_000);
    assert.deepEqual(c2.imported(), { [KEY]: "no vip 10.1.0.7 10.1.0.8(dead) 10.2.0.7" });
    if (restarts) await c2.restart();
    await world.pass(MINUTE);
    serve(c2, ["10.2.0.7"], false);
    await world.pass(10_000);
    assert.deepEqual(c2.imported(), last);
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
    await world.pass(MINUTE);
    assert.deepEqual(c3.imported(), ALL);
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
  const reasons = c3.server.objects.list("events").map(({ reason }) => reason);
  assert.deepEqual(
    reasons.filter((reason) => reason === "NoReadyEndpoint"),
    [],
  );
});
