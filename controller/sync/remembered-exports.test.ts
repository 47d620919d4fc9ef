import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { at } from "../../test/doubles/memory/fields.ts";
import { forMany } from "../../test/generators/for-all.ts";
import type { Serving } from "../../test/stages/cluster-manifests.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const KEY = "shop/web";
const MINUTE = 60_000;

/** A Service with one endpoint of each family. */
function serve(cluster: MemoryCluster, serving: Serving = {}): void {
  const n = cluster.id.slice(1);
  const of = (family: string) => (family === "IPv4" ? `10.${n}.0.7` : `fd00:10:${n}::7`);
  cluster.serveAs(KEY, (serving.families ?? ["IPv4"]).map(of), serving);
}

/** c1, c2 and c3; those of `exporters` export, the oldest first. */
async function open(exporters: Readonly<Record<string, Serving>>, onHub = false) {
  const opened = ControllerWorld.of(["c1", "c2", "c3"], undefined, onHub);
  const { world } = opened;
  await world.run(20_000);
  for (const [id, serving] of Object.entries(exporters)) {
    serve(world.cluster(id), serving);
    world.cluster(id).export(KEY);
    await world.pass(10_000);
  }
  await world.pass(20_000);
  return opened;
}

/** An import as clients and users see it. */
function importOf({ server }: MemoryCluster, key = KEY) {
  const object = server.objects.get("serviceimports", key);
  const list = (path: readonly string[]) => (at(object, path) ?? []) as Record<string, unknown>[];
  const { ips: _, ...spec } = (at(object, ["spec"]) ?? {}) as Record<string, unknown>;
  return {
    ...spec,
    ports: list(["spec", "ports"]).map(({ name, port }) => `${String(name)} ${String(port)}`),
    clusters: list(["status", "clusters"]).map(({ cluster }) => cluster),
  };
}

/** Ports with endpoints of each source cluster: `c1: http`, or `c1: http IPv6`. */
function portsOf({ server }: MemoryCluster): string[] {
  const slices = server.objects.list("endpointslices").flatMap((slice) => {
    const labels = at(slice, ["metadata", "labels"]);
    const cluster = at(labels, ["multicluster.kubernetes.io/source-cluster"]);
    const isImported = at(labels, ["multicluster.kubernetes.io/service-name"]) !== undefined;
    if (!isImported || (slice.endpoints as unknown[]).length === 0) return [];
    const ports = (slice.ports ?? []) as Record<string, unknown>[];
    const family = slice.addressType === "IPv6" ? " IPv6" : "";
    return ports.map(({ name }) => `${String(cluster)}: ${String(name)}${family}`);
  });
  return [...new Set(slices)].sort();
}

const UNHEARD = /^True Ready ClusterSetIP \S+\. Left out: not-heard\.$/;
const HEARD = /^True Ready ClusterSetIP \S+\.$/;

for (const onHub of [false, true]) {
  const where = onHub ? "on a hub" : "in a mesh";
  test(`after a restart while a peer is dead, an import follows its own cluster and new exporters, and keeps what the peer exported, ${where}`, async () => {
    const { world, c1, c2, c3 } = await open({ c1: {}, c2: { ports: ["grpc 90"] } }, onHub);
    await c2.stop();
    c2.server.fail();
    await c1.stop();
    c1.start();
    serve(c1, { ports: ["http 80", "admin 9090"] });
    serve(c3, { ports: ["extra 70"] });
    c3.export(KEY);
    await world.pass(2 * MINUTE);
    const { ports, clusters } = importOf(c1);
    assert.deepEqual(ports, ["http 80", "admin 9090", "grpc 90", "extra 70"]);
    assert.deepEqual(clusters, ["c1", "c2", "c3"]);
    assert.deepEqual(importOf(c1), importOf(c3), "as where the controller did not restart");
    assert.deepEqual(portsOf(c1), ["c1: admin", "c1: http", "c2: grpc", "c3: extra"]);
    assert.deepEqual(c1.imported(), { [KEY]: "vip 10.1.0.7 10.2.0.7(serving) 10.3.0.7" });
  });
}

test("after a restart while the hub is down, an import follows its own cluster, and keeps what others exported", async () => {
  const { world, c1 } = await open({ c1: {}, c2: { ports: ["grpc 90"] } }, true);
  world.hub?.fail();
  await c1.restart();
  serve(c1, { ports: ["http 8080"] });
  await world.pass(MINUTE);
  const { ports, clusters } = importOf(c1);
  assert.deepEqual(ports, ["http 8080", "grpc 90"]);
  assert.deepEqual(clusters, ["c1", "c2"]);
  assert.match(c1.ready(), UNHEARD);
  if (world.hub) world.hub.down = false;
  await c1.readyAfter(MINUTE, HEARD);
  assert.deepEqual(c1.imported(), { [KEY]: "vip 10.1.0.7 10.2.0.7" });
});

test("a port whose number the oldest export changes is no longer the dead cluster's, as without a restart", async () => {
  const { world, c1, c2, c3 } = await open({ c1: {}, c2: { ports: ["http 80", "grpc 90"] } });
  c2.server.fail();
  await world.pass(MINUTE);
  await c1.restart();
  await world.pass(MINUTE);
  serve(c1, { ports: ["http 9090"] });
  await world.pass(10_000);
  assert.deepEqual(importOf(c1), importOf(c3));
  assert.deepEqual(importOf(c1).ports, ["http 9090", "grpc 90"]);
  assert.deepEqual(portsOf(c1), ["c1: http", "c2: grpc"]);
  serve(c1, { ports: ["http 9090", "grpc 91"] });
  await world.pass(10_000);
  assert.deepEqual(portsOf(c1), ["c1: grpc", "c1: http"]);
  assert.deepEqual(portsOf(c1), portsOf(c3));
  c2.server.down = false;
  serve(c1, { ports: ["http 80"] });
  await world.pass(2 * MINUTE);
  assert.deepEqual(portsOf(c1), ["c1: http", "c2: grpc", "c2: http"]);
});

test("a dead cluster with the oldest export decides after a restart, also against an export that appears then", async () => {
  const oldest = { affinity: "ClientIP", families: ["IPv6", "IPv4"] } as const;
  const { world, c1, c2, c3 } = await open({ c2: oldest, c1: { families: ["IPv6", "IPv4"] } });
  const before = importOf(c1);
  c2.server.fail();
  await c1.restart();
  await world.pass(MINUTE);
  serve(c3, { isHeadless: true });
  c3.export(KEY);
  await world.pass(10_000);
  assert.deepEqual(importOf(c1), { ...before, clusters: ["c2", "c1", "c3"] });
  assert.deepEqual(importOf(c1), importOf(c3));
});

test("labels and annotations of a dead cluster that decides stay after a restart", async () => {
  const { world, c1, c2, c3 } = await open({});
  for (const one of [c1, c2]) serve(one);
  const flags = ["--exported-keys", "team,note", "--accept-policies-from", "c2"];
  const min = "clusterset-proxy.io/min-ready";
  for (const cluster of [c1, c2, c3]) {
    cluster.flags = flags;
    await cluster.restart();
  }
  const metadata = { namespace: "shop", name: "web" };
  const spec = {
    exportedLabels: { team: "a", secret: "b" },
    exportedAnnotations: { note: "c", [min]: "3" },
  };
  c2.apply({ kind: "ServiceExport", metadata, spec });
  await world.pass(10_000);
  c1.apply({ kind: "ServiceExport", metadata, spec: { exportedLabels: { team: "z" } } });
  await world.pass(10_000);
  const metadataOf = (...path: string[]) => c3.read("serviceimports", KEY, "metadata", ...path);
  const annotation = (name: string) => metadataOf("annotations", name);
  const has = () => [metadataOf("labels", "team"), annotation("note"), annotation(min)];
  assert.deepEqual(has(), ["a", "c", "3"]);
  c2.server.fail();
  await c3.restart();
  await world.pass(MINUTE);
  serve(c1, { ports: ["http 80", "grpc 90"] });
  await world.pass(10_000);
  assert.deepEqual(importOf(c3).ports, ["http 80", "grpc 90"]);
  assert.deepEqual(has(), ["a", "c", "3"]);
  assert.doesNotMatch(String(annotation("clusterset-proxy.io/exports")), /secret/);
});

test("an import keeps what a dead cluster exports when all others withdraw, and goes when that cluster leaves", async () => {
  const { world, c1, c2, c3 } = await open({ c1: {}, c2: { ports: ["grpc 90"] } });
  c1.offer("shop/api", ["10.1.0.8"]);
  await world.pass(5000);
  c2.server.fail();
  await c1.restart();
  await c3.restart();
  await world.pass(MINUTE);
  for (const key of [KEY, "shop/api"]) c1.delete("ServiceExport", key);
  await world.pass(MINUTE);
  for (const cluster of [c1, c3]) {
    assert.deepEqual(importOf(cluster).ports, ["grpc 90"]);
    assert.deepEqual(importOf(cluster).clusters, ["c2"]);
    assert.deepEqual(cluster.imported(), { [KEY]: "vip 10.2.0.7(serving)" }, "shop/api is gone");
  }
  c1.delete("Secret", "clusterset-proxy/peer-c2");
  await world.pass(MINUTE);
  assert.deepEqual([c1.imported(), c1.orphans()], [{}, []]);
});

test("an import of an earlier release, which does not show what a dead cluster exported, does not change", async () => {
  const { world, c1, c2 } = await open({ c1: {}, c2: {} });
  c2.server.fail();
  await c1.stop();
  const object = c1.server.objects.get("serviceimports", KEY) ?? {};
  const metadata = at(object, ["metadata"]) as Record<string, Record<string, unknown>>;
  const { "clusterset-proxy.io/exports": _, ...annotations } = metadata.annotations ?? {};
  const earlier = { ...object, metadata: { ...metadata, annotations } };
  c1.server.objects.apply("serviceimports", KEY, earlier, "clusterset-controller");
  const before = importOf(c1);
  c1.start();
  serve(c1, { ports: ["http 80", "admin 9090"] });
  await world.pass(2 * MINUTE);
  assert.deepEqual(importOf(c1), before);
  assert.match(c1.ready(), UNHEARD);
  c2.server.down = false;
  await world.pass(2 * MINUTE);
  assert.deepEqual(importOf(c1).ports, ["http 80", "admin 9090"]);
});

const NAMES = Array.from({ length: 10 }, (_, i) => `shop/web-${i}`);

/** Clusters in sync that both export each of `NAMES`; c1 has no endpoint of the first. */
async function manyImports() {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"]);
  for (const [i, cluster] of world.clusters.entries())
    for (const [j, key] of NAMES.entries())
      cluster.offer(key, i + j === 0 ? [] : [`10.${i + 1}.0.${j + 1}`]);
  await world.run(20_000);
  return { world, c1, c2 };
}

/** Each import that was written, as often as it was. */
function importsWritten(cluster: MemoryCluster, since: number): string[] {
  const writes = cluster.writesAfter(since, "serviceimports");
  return writes.map(({ key }) => key).sort();
}

test("imports of a cluster that is unreachable since a restart say so once it is stale, and stop when it is read", async () => {
  const { world, c1, c2 } = await manyImports();
  await c2.stop();
  c1.server.fail();
  const slices = JSON.stringify(c2.imported());
  let since = c2.server.writes.length;
  c2.start();
  await world.pass(25_000);
  assert.deepEqual(importsWritten(c2, since), [], "it has its time to renew");
  await world.pass(95_000);
  assert.deepEqual(importsWritten(c2, since), NAMES.toSorted(), "one write each");
  for (const key of NAMES) {
    assert.match(c2.ready(key), UNHEARD);
    assert.deepEqual(importOf(c2, key).clusters, ["c1", "c2"]);
  }
  const lastResort = slices.replace(/(10\.1\.0\.\d+)/g, "$1(serving)");
  assert.equal(JSON.stringify(c2.imported()), lastResort, "endpoints of the lost cluster stay");
  since = c2.server.writes.length;
  await c2.restart();
  await world.pass(120_000);
  assert.deepEqual(c2.writesAfter(since), [], "another restart changes nothing");
  c1.server.down = false;
  await world.pass(120_000);
  for (const key of NAMES) assert.match(c2.ready(key), HEARD);
  assert.deepEqual(importsWritten(c2, since), NAMES.toSorted(), "one write each");
  assert.equal(JSON.stringify(c2.imported()), slices);
});

test("a restart writes nothing, also if a cluster's controller has stopped before and only its API server answers", async () => {
  const { world, c1, c2 } = await manyImports();
  assert.deepEqual(await c2.writesAfterRestart(120_000), []);
  await c1.stop();
  await world.pass(120_000);
  assert.deepEqual(await c2.writesAfterRestart(120_000), []);
});

const SERVING: fc.Arbitrary<Serving> = fc.record({
  ports: fc.constantFrom(["http 80"], ["http 81"], ["http 80", "grpc 90"], ["grpc 80"]),
  families: fc.constantFrom(["IPv4"], ["IPv6"], ["IPv4", "IPv6"], ["IPv6", "IPv4"]),
  isHeadless: fc.boolean(),
  affinity: fc.constantFrom("ClientIP", "None"),
});

test("the import is the same whether or not the controller restarted while a peer is dead, after any changes of the others", () => {
  const exporters = fc.shuffledSubarray(["c1", "c2", "c3"], { minLength: 1 });
  const change = fc.record({ cluster: fc.constantFrom("c1", "c3"), serving: SERVING });
  const histories = fc.array(change, { maxLength: 3 });
  const servings = fc.tuple(SERVING, SERVING, SERVING);
  const dual: Serving = { families: ["IPv6", "IPv4"], isHeadless: true };
  return forMany(
    8,
    [exporters, servings, histories],
    async (ids, all, changes) => {
      const { world, c1, c2, c3 } = await open(
        Object.fromEntries(ids.map((id, i) => [id, all[i] ?? {}])),
      );
      c2.server.fail();
      await world.pass(MINUTE);
      await c1.restart();
      await world.pass(MINUTE);
      for (const { cluster, serving } of changes) {
        serve(world.cluster(cluster), serving);
        world.cluster(cluster).export(KEY);
        await world.pass(10_000);
      }
      assert.deepEqual(importOf(c1), importOf(c3));
      const others = portsOf(c3);
      // What was lost in between, or not imported before, comes back with the peer.
      for (const port of portsOf(c1)) assert.ok(others.includes(port), port);
      if (portsOf(c1).length === others.length) assert.deepEqual(c1.imported(), c3.imported());
      c2.server.down = false;
      await world.pass(2 * MINUTE);
      assert.deepEqual(importOf(c1), importOf(c3));
      assert.deepEqual(portsOf(c1), portsOf(c3));
      assert.deepEqual(c1.imported(), c3.imported());
      await world.stop();
    },
    [[["c3", "c2"], [{}, dual, {}], [{ cluster: "c3", serving: dual }]]],
  );
});
