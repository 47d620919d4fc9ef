import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { at } from "../../test/doubles/memory/fields.ts";
import { servicePort } from "../../test/generators/export-records.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const KEY = "shop/web";
const MINUTE = 60_000;

interface Serving {
  /** As of `servicePort`. */
  readonly ports?: readonly string[];
  readonly families?: readonly string[];
  readonly isHeadless?: boolean;
  readonly affinity?: "ClientIP" | "None";
}

/** A Service with one endpoint of each family. */
function serve(
  cluster: MemoryCluster,
  { ports = ["http 80"], families = ["IPv4"], isHeadless = false, affinity = "None" }: Serving = {},
): void {
  const [namespace, name, n] = ["shop", "web", cluster.id.slice(1)];
  const list = ports.map(servicePort).map((port) => ({ ...port }));
  cluster.apply({
    kind: "Service",
    metadata: { namespace, name },
    spec: {
      type: "ClusterIP",
      clusterIP: isHeadless ? "None" : "10.96.0.9",
      ipFamilies: families,
      ports: list,
      sessionAffinity: affinity,
    },
  });
  for (const addressType of ["IPv4", "IPv6"]) {
    const address = addressType === "IPv4" ? `10.${n}.0.7` : `fd00:10:${n}::7`;
    cluster.apply({
      kind: "EndpointSlice",
      metadata: {
        namespace,
        name: `${name}-${addressType.toLowerCase()}`,
        labels: { "kubernetes.io/service-name": name },
      },
      addressType,
      ports: list,
      endpoints: families.includes(addressType)
        ? [{ addresses: [address], conditions: { ready: true } }]
        : [],
    });
  }
}

/** c1, c2 and c3; those of `exporters` export, the oldest first. */
async function open(exporters: Readonly<Record<string, Serving>>, onHub = false) {
  const names = ["c1", "c2", "c3"] as const;
  const world = onHub ? ControllerWorld.withHub(names) : new ControllerWorld(names);
  for (const cluster of world.clusters) cluster.namespace("shop");
  await world.run(20_000);
  for (const [id, serving] of Object.entries(exporters)) {
    serve(world.cluster(id), serving);
    world.cluster(id).export(KEY);
    await world.pass(10_000);
  }
  await world.pass(20_000);
  const [c1, c2, c3] = world.clusters;
  return { world, c1, c2, c3 };
}

/** An import as clients and users see it. */
function importOf({ server }: MemoryCluster) {
  const object = server.objects.get("serviceimports", KEY);
  const list = (path: readonly string[]) => (at(object, path) ?? []) as Record<string, unknown>[];
  const { ips: _, ...spec } = (at(object, ["spec"]) ?? {}) as Record<string, unknown>;
  return {
    ...spec,
    ports: list(["spec", "ports"]).map(({ name, port }) => `${String(name)} ${String(port)}`),
    clusters: list(["status", "clusters"]).map(({ cluster }) => cluster),
  };
}

/** Ports with endpoints of each source cluster: `c1: http`. */
function portsOf({ server }: MemoryCluster): string[] {
  const slices = server.objects.list("endpointslices").flatMap((slice) => {
    const labels = at(slice, ["metadata", "labels"]);
    const cluster = at(labels, ["multicluster.kubernetes.io/source-cluster"]);
    const isImported = at(labels, ["multicluster.kubernetes.io/service-name"]) !== undefined;
    if (!isImported || (slice.endpoints as unknown[]).length === 0) return [];
    const ports = (slice.ports ?? []) as Record<string, unknown>[];
    return ports.map(({ name }) => `${String(cluster)}: ${String(name)}`);
  });
  return [...new Set(slices)].sort();
}

const messageOf = (cluster: MemoryCluster) => cluster.condition("serviceimports", KEY).message;

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
  assert.match(String(messageOf(c1)), /Left out: not-heard\.$/);
  if (world.hub) world.hub.down = false;
  await world.pass(MINUTE);
  assert.match(String(messageOf(c1)), /^ClusterSetIP \S+\.$/);
  assert.deepEqual(c1.imported(), { [KEY]: "vip 10.1.0.7 10.2.0.7" });
});

test("the import says that a cluster is not read, and another restart and its return write no more than that", async () => {
  const { world, c1, c2 } = await open({ c1: {}, c2: {} });
  const before = importOf(c1);
  c2.server.fail();
  await world.pass(MINUTE);
  await c1.restart();
  await world.pass(2 * MINUTE);
  assert.match(String(messageOf(c1)), /^ClusterSetIP \S+\. Left out: not-heard\.$/);
  assert.deepEqual(importOf(c1), before);
  let since = c1.server.writes.length;
  await c1.restart();
  await world.pass(2 * MINUTE);
  assert.deepEqual(c1.writesAfter(since), []);
  since = c1.server.writes.length;
  c2.server.down = false;
  await world.pass(2 * MINUTE);
  assert.match(String(messageOf(c1)), /^ClusterSetIP \S+\.$/);
  const imports = c1.writesAfter(since).filter(({ kind }) => kind === "serviceimports");
  assert.equal(imports.length, 1);
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
  const [min, team, note] = ["clusterset-proxy.io/min-ready", "team", "note"];
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
  const has = (cluster: MemoryCluster) => {
    const object = cluster.server.objects.get("serviceimports", KEY);
    return [
      at(object, ["metadata", "labels", team]),
      at(object, ["metadata", "annotations", note]),
      at(object, ["metadata", "annotations", min]),
    ];
  };
  assert.deepEqual(has(c3), ["a", "c", "3"]);
  c2.server.fail();
  await c3.restart();
  await world.pass(MINUTE);
  serve(c1, { ports: ["http 80", "grpc 90"] });
  await world.pass(10_000);
  assert.deepEqual(importOf(c3).ports, ["http 80", "grpc 90"]);
  assert.deepEqual(has(c3), ["a", "c", "3"]);
  const exports = at(c3.server.objects.get("serviceimports", KEY), [
    "metadata",
    "annotations",
    "clusterset-proxy.io/exports",
  ]);
  assert.doesNotMatch(String(exports), /secret/);
});

test("an import keeps what a dead cluster exports when all others withdraw, and goes when that cluster leaves", async () => {
  const { world, c1, c2, c3 } = await open({ c1: {}, c2: { ports: ["grpc 90"] } });
  c2.server.fail();
  await c1.restart();
  await c3.restart();
  await world.pass(MINUTE);
  c1.delete("ServiceExport", KEY);
  await world.pass(MINUTE);
  for (const cluster of [c1, c3]) {
    assert.deepEqual(importOf(cluster).ports, ["grpc 90"]);
    assert.deepEqual(importOf(cluster).clusters, ["c2"]);
    assert.deepEqual(cluster.imported(), { [KEY]: "vip 10.2.0.7(serving)" });
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
  assert.match(String(messageOf(c1)), /Left out: not-heard\.$/);
  c2.server.down = false;
  await world.pass(2 * MINUTE);
  assert.deepEqual(importOf(c1).ports, ["http 80", "admin 9090"]);
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
  return forMany(8, [exporters, servings, histories], async (ids, all, changes) => {
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
    // What was lost in between comes back with the peer.
    for (const port of portsOf(c1)) assert.ok(others.includes(port), port);
    if (portsOf(c1).length === others.length) assert.deepEqual(c1.imported(), c3.imported());
    c2.server.down = false;
    await world.pass(2 * MINUTE);
    assert.deepEqual(importOf(c1), importOf(c3));
    assert.deepEqual(portsOf(c1), portsOf(c3));
    assert.deepEqual(c1.imported(), c3.imported());
    await world.stop();
  });
});
