import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { at } from "../../test/doubles/memory/fields.ts";
import { FINE } from "../../test/doubles/memory/memory-api-server.ts";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { anyChance } from "../../test/generators/chance.ts";
import { forMany } from "../../test/generators/for-all.ts";
import type { Made } from "../../test/generators/steps.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { ASK, ask } from "../../test/stages/failover-world.ts";

// Three controllers on API servers in memory, with users, other writers, faults and restarts in any order: in the end
// all clusters converge, nothing is left behind, and nothing is written any more.

const NAMES = ["shop/web", "shop/api", "bank/web"] as const;
const ADDRESSES = ["10.1.0.1", "10.1.0.2", "10.1.0.3"] as const;

/** `RUNS=1000` searches for rare failures. */
const RUNS = Number(process.env.RUNS ?? 5);

type Step = (world: ControllerWorld) => void | Promise<void>;

const ids = fc.constantFrom("c1", "c2", "c3");
const names = fc.constantFrom(...NAMES);

/** An event in one cluster. */
function onCluster<T>(
  what: fc.Arbitrary<T>,
  act: (cluster: MemoryCluster, value: T) => void | Promise<void>,
): fc.Arbitrary<Step> {
  return fc.tuple(ids, what).map(([id, value]) =>
    Object.assign((world: ControllerWorld) => act(world.cluster(id), value), {
      toString: () => `${id} ${act.toString().replace(/\s+/g, " ")} ${JSON.stringify(value)}`,
    }),
  );
}

function namespaceOf(key: string): string {
  return key.split("/")[0] ?? "";
}

/** Deletes the content of a namespace, then the namespace. */
function removeNamespace({ server }: MemoryCluster, name: string): void {
  for (const kind of ["services", "serviceexports", "serviceimports", "endpointslices"]) {
    for (const object of server.objects.list(kind)) {
      const metadata = object.metadata as { namespace: string; name: string };
      if (metadata.namespace === name) server.objects.delete(kind, `${name}/${metadata.name}`);
    }
  }
  server.objects.delete("namespaces", name);
}

/** An owner annotates a Service or Namespace that exists. */
function askOf(cluster: MemoryCluster, kind: string, key: string, value: string): void {
  if (cluster.has(kind, key)) ask(cluster, value, kind, key);
}

const users = fc.oneof(
  onCluster(names, (cluster, key) => {
    cluster.namespace(namespaceOf(key));
    cluster.export(key);
  }),
  onCluster(names, (cluster, key) => cluster.delete("ServiceExport", key)),
  onCluster(
    fc.tuple(names, fc.subarray([...ADDRESSES]), fc.subarray([...ADDRESSES])),
    (cluster, [key, all, dead]) => {
      cluster.namespace(namespaceOf(key));
      cluster.serve(key, own(cluster, all), own(cluster, dead));
    },
  ),
  onCluster(names, (cluster, key) => cluster.delete("Service", key)),
  onCluster(fc.tuple(names, fc.constantFrom("true", "true", "false")), (cluster, [key, value]) =>
    askOf(cluster, "services", key, value),
  ),
  onCluster(
    fc.tuple(fc.constantFrom("shop", "bank"), fc.constantFrom("true", "false")),
    (cluster, [name, value]) => askOf(cluster, "namespaces", name, value),
  ),
  onCluster(fc.constantFrom("shop", "bank"), (cluster, name) => cluster.namespace(name)),
  onCluster(fc.constantFrom("shop", "bank"), (cluster, name) => removeNamespace(cluster, name)),
);

/** All clusters have all Services; two export them. */
function populate(world: ControllerWorld): void {
  for (const cluster of world.clusters) {
    for (const key of NAMES) {
      cluster.namespace(namespaceOf(key));
      cluster.serve(key, own(cluster, ADDRESSES));

      if (cluster.id !== "c3") cluster.export(key);
    }
  }
}

/** Pods of different clusters have different addresses. */
function own({ id }: MemoryCluster, addresses: readonly string[]): string[] {
  return addresses.map((address) => address.replace("10.1", `10.${id.slice(1)}`));
}

const otherWriters = fc.oneof(
  onCluster(names, (cluster, key) => cluster.delete("ServiceImport", key)),
  onCluster(fc.nat(), (cluster, index) => {
    const slices = cluster.server.objects.list("endpointslices");
    const { namespace, name } =
      (slices[index % slices.length]?.metadata as Record<string, string>) ?? {};
    if (name?.endsWith("-1") === false || namespace?.startsWith("clusterset-registry-") === true) {
      cluster.server.objects.delete("endpointslices", `${namespace}/${name}`);
    }
  }),
  onCluster(fc.constantFrom("c1", "c2", "c3"), (cluster, peer) => {
    cluster.delete("Secret", `clusterset-proxy/peer-${peer}`);
  }),
);

/** Writes of a kind that admission denies, all or only creations and such. */
const rejection = fc.record({
  kind: fc.constantFrom(
    "endpointslices",
    "serviceimports",
    "serviceexports",
    "ipaddresses",
    "leases",
    "clusterproperties",
  ),
  part: fc.constantFrom("all", "PATCH", "DELETE", "status"),
  where: fc.constantFrom("shop/", "clusterset-registry-", ""),
  status: fc.constantFrom(403, 404, 409, 422, 429, 500, 504),
});

function reject({ server }: MemoryCluster, what: Made<typeof rejection> | null): void {
  server.admitWrite = ({ kind, key, method }, subresource) => {
    if (what === null || kind !== what.kind || !key.startsWith(what.where)) return;
    if (!["all", method, subresource].includes(what.part)) return;
    throw new Refusal(what.status, 'admission webhook "a.b" denied the request: no');
  };
}

const faults = fc.oneof(
  onCluster(fc.boolean(), ({ server }, down) => {
    server.down = down;
    if (down) server.cut();
  }),
  onCluster(fc.constant(0), ({ server }) => server.cut()),
  onCluster(fc.constant(0), ({ server }) => {
    server.objects.compact();
    server.cut();
  }),
  onCluster(fc.constantFrom(0, 0.1, 0.4), ({ server }, lost) => {
    server.weather = { delay: lost * 1000, lost };
  }),
  onCluster(fc.constant(0), async (cluster) => {
    await cluster.restart();
  }),
  onCluster(fc.option(rejection), reject),
);

/** Starts another replica, or stops or kills one of two. */
const replicas = onCluster(fc.boolean(), async (cluster, killed) => {
  if (cluster.replicas < 2) cluster.start();
  else if (killed) cluster.kill();
  else await cluster.stop();
});

const passing = fc
  .constantFrom(1, 20, 500, 5000, 45_000)
  .map(
    (ms): Step =>
      Object.assign((world: ControllerWorld) => world.pass(ms), { toString: () => `${ms} ms` }),
  );

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: users },
    { weight: 1, arbitrary: otherWriters },
    { weight: 2, arbitrary: faults },
    { weight: 1, arbitrary: replicas },
    { weight: 3, arbitrary: passing },
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

/** Those of the clusters that export a Service which they have. */
function exportersOf(key: string, clusters: readonly MemoryCluster[]): MemoryCluster[] {
  return clusters.filter((one) => one.has("serviceexports", key) && one.has("services", key));
}

/** The endpoints that these clusters have of a Service. */
function endpointsIn(key: string, clusters: readonly MemoryCluster[]): string[] {
  return clusters
    .flatMap((one) => endpointsOf(one.server.objects.get("endpointslices", `${key}-1`)))
    .sort();
}

/** The converged state of a cluster. */
function expected(world: ControllerWorld, cluster: MemoryCluster): Record<string, string> {
  const all: Record<string, string> = {};
  for (const key of NAMES) {
    const exporters = exportersOf(key, world.clusters);
    if (exporters.length === 0 || !cluster.has("namespaces", namespaceOf(key))) continue;
    all[key] = ["vip", ...endpointsIn(key, exporters)].join(" ");
  }
  return all;
}

/** The endpoints that each Service that exists fails over to: without regions, all other clusters are one tier. */
function expectedFailover(world: ControllerWorld, cluster: MemoryCluster): Record<string, string> {
  const all: Record<string, string> = {};
  const others = world.clusters.filter((one) => one !== cluster);
  for (const key of NAMES) {
    if (!isFailingOver(cluster, key)) continue;
    const asked = (resource: string, name: string) =>
      cluster.read(resource, name, "metadata", "annotations", ASK);
    const isAsked = (asked("services", key) ?? asked("namespaces", namespaceOf(key))) === "true";
    const ready = endpointsIn(key, isAsked ? exportersOf(key, others) : []);
    all[key] = ready.filter((endpoint) => !endpoint.endsWith("(dead)")).join(" ");
  }
  return all;
}

function isFailingOver(cluster: MemoryCluster, key: string): boolean {
  return cluster.has("services", key) && cluster.has("namespaces", namespaceOf(key));
}

/** The same as it is. What a Service leaves behind has no effect, and Kubernetes deletes it. */
function failover(cluster: MemoryCluster): Record<string, string> {
  const all: Record<string, string[]> = {};
  for (const key of NAMES) if (isFailingOver(cluster, key)) all[key] = [];
  for (const slice of cluster.server.objects.list("endpointslices")) {
    const { namespace, name } = slice.metadata as { namespace: string; name: string };
    if (!name.includes(".failover.")) continue;
    const endpoints = endpointsOf(slice).map((endpoint) => endpoint.replace("(dead)", ""));
    all[`${namespace}/${name.split(".")[0]}`]?.push(...endpoints);
  }
  return Object.fromEntries(
    Object.entries(all).map(([key, endpoints]) => [key, endpoints.sort().join(" ")]),
  );
}

function endpointsOf(slice: unknown): string[] {
  const { endpoints = [] } = (slice ?? {}) as {
    endpoints?: { addresses: string[]; conditions: { ready: boolean } }[];
  };
  return endpoints.map(
    ({ addresses, conditions }) => `${addresses.join()}${conditions.ready ? "" : "(dead)"}`,
  );
}

test("after any history all clusters converge to the exports, and nothing is written any more", () =>
  forMany(RUNS, [steps, anyChance], async (history, chance) => {
    const world = new ControllerWorld(["c1", "c2", "c3"], chance);
    populate(world);
    world.start();
    for (const step of history) await step(world);
    for (const { server } of world.clusters) {
      server.down = false;
      server.weather = FINE;
      server.admitWrite = () => {};
    }
    for (const cluster of world.clusters) {
      for (const { id } of world.clusters) if (id !== cluster.id) cluster.introduce(id);
    }
    await world.pass(180_000);
    const counts = world.clusters.map(({ server }) => server.writes.length);
    await world.pass(60_000);
    world.clusters.forEach((cluster, i) => {
      const log = cluster.log.slice(-30).join("\n");
      assert.deepEqual(cluster.imported(), expected(world, cluster), `${cluster.id}\n${log}`);
      assert.deepEqual(failover(cluster), expectedFailover(world, cluster), cluster.id);
      assert.deepEqual(cluster.orphans(), [], cluster.id);
      assert.deepEqual(cluster.sharedVips(), [], cluster.id);
      assert.deepEqual(cluster.writesAfter(counts[i] ?? 0), [], `${cluster.id}\n${log}`);
    });
  }));

test("faults and restarts alone remove no import, VIP or endpoint", async () => {
  const trouble = fc.array(fc.oneof(faults, faults, replicas, passing), {
    minLength: 5,
    maxLength: 25,
    size: "max",
  });
  await forMany(RUNS, [trouble, anyChance], async (history, chance) => {
    const world = new ControllerWorld(["c1", "c2", "c3"], chance);
    populate(world);
    await world.run(10_000);
    const lost = losses(world);
    for (const step of history) await step(world);
    await world.stop();
    assert.deepEqual(lost, []);
  });
});

// A hub returns with an older state or with only its namespaces, after any time; publishers and readers reconnect in
// any order.

/** Imports that were removed in any cluster since the call. */
function losses({ clusters }: ControllerWorld): string[] {
  const lost: string[] = [];
  for (const { id, server } of clusters) {
    server.objects.listen(({ kind, key, before, object, type }) => {
      if (before === undefined || !["serviceimports", "endpointslices"].includes(kind)) return;
      const facts = (one: unknown) => [...ipsOf(one), ...addressesOf(one)];
      const after = type === "DELETED" ? [] : facts(object);
      const gone = facts(before).filter((one) => !after.includes(one));
      if (gone.length > 0 || type === "DELETED") lost.push(`${id} ${type} ${key}: ${gone.join()}`);
    });
  }
  return lost;
}

function ipsOf(object: unknown): string[] {
  return [at(object, ["spec", "ips"]) ?? []].flat().map(String);
}

function addressesOf(object: unknown): string[] {
  const endpoints = [at(object, ["endpoints"]) ?? []].flat();
  return endpoints.map((one: unknown) => String(at(one, ["addresses"])));
}

/** Names that c1 and c2 export: some before the backup was made, some after. */
async function publish(world: ControllerWorld, names: readonly string[], last: number) {
  for (const [i, cluster] of world.clusters.slice(0, 2).entries()) {
    for (const name of names) {
      cluster.offer(`shop/${name}`, [`10.${i + 1}.0.1`, `10.${i + 1}.0.${last}`]);
    }
  }
  await world.pass(5000);
}

test("a hub that is restored or rebuilt removes no import, and contains all records again", async () => {
  const outages = fc.record({
    /** True if only the namespaces are restored. */
    isEmpty: fc.boolean(),
    later: fc.subarray(["api", "db", "web"]),
    /** Milliseconds between backup and outage, without the time of publications. */
    age: fc.constantFrom(0, 30_000),
    /** Resource versions that other writers use before any controller reconnects. */
    ahead: fc.constantFrom(0, 15),
    away: fc.constantFrom(100, 3000, 45_000),
    delay: fc.constantFrom(3, 1400),
  });
  await forMany(
    RUNS,
    [outages, anyChance],
    async ({ isEmpty, later, age, ahead, away, delay }, chance) => {
      const { world, hub } = ControllerWorld.withHub(["c1", "c2", "c3"], chance);
      await world.run(15_000);
      await publish(world, ["web", "cache"], 2);
      const backup = hub.objects.save(isEmpty ? ["namespaces"] : undefined);
      const version = isEmpty ? 50 : backup.version;
      await publish(world, later, 3);
      await world.pass(age);
      const before = world.clusters.map((cluster) => cluster.imported());
      hub.fail();
      const lost = losses(world);
      await world.pass(away);
      hub.objects.restore(backup, version + ahead);
      hub.weather = { delay, lost: 0 };
      hub.down = false;
      await world.pass(180_000);
      assert.deepEqual(lost, []);
      for (const [i, cluster] of world.clusters.entries()) {
        assert.deepEqual(cluster.imported(), before[i], cluster.log.slice(-30).join("\n"));
      }
      await publish(world, ["web"], 9);
      assert.match(world.clusters[2]?.imported()["shop/web"] ?? "", /10\.2\.0\.9/);
      await world.stop();
    },
  );
});

for (const isYoung of [false, true])
  test(`after a restart, a hub that was restored from ${isYoung ? "a backup of the last seconds" : "an old backup"} while a publisher is dead removes no import, until the publisher has returned`, async () => {
    const { world, c1, c2, hub } = ControllerWorld.withHub(["c1", "c2"]);
    for (const name of ["shop/gone", "shop/old"]) c1.offer(name, ["10.1.0.1"]);
    await world.run(26_000);
    const backup = hub.objects.save();
    c1.offer("shop/new", ["10.1.0.2"]);
    await world.pass(isYoung ? 500 : 20_000);
    c1.kill();
    if (isYoung) c2.kill();
    else await c2.stop();
    hub.objects.restore(backup, backup.version);
    c2.start();
    const [one, two] = ["vip 10.1.0.1(serving)", "vip 10.1.0.2(serving)"];
    await c2.importsAfter(60_000, { "shop/gone": one, "shop/new": two, "shop/old": one });
    c1.delete("ServiceExport", "shop/gone");
    c1.start();
    await c2.importsAfter(60_000, { "shop/new": "vip 10.1.0.2", "shop/old": "vip 10.1.0.1" });
  });
