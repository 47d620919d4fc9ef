import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fields } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const SELECTORS = "clusterset-proxy.io/cluster-selectors";
const ON_DEATH = "clusterset-proxy.io/on-endpoint-death";
const KEY = "shop/web";

/** Clusters that all export shop/web at once, with what each exports besides; the controllers have these flags. */
async function exporting(
  specs: Readonly<Record<string, Fields>>,
  flags: readonly string[] = [],
): Promise<ControllerWorld> {
  const world = new ControllerWorld(Object.keys(specs));
  for (const [i, cluster] of world.clusters.entries()) {
    cluster.flags = flags;
    cluster.serve(KEY, [`10.${i + 1}.0.7`]);
    exportAs(cluster, specs[cluster.id]);
  }
  await world.run(20_000);
  return world;
}

function exportAs(cluster: MemoryCluster, spec: Fields = {}): void {
  const metadata = { namespace: "shop", name: "web" };
  if (spec.none !== true) cluster.apply({ kind: "ServiceExport", metadata, spec });
}

/** A hostile publisher replaces the cluster's controller, and rewrites the age in its record. */
function backdate(cluster: MemoryCluster, age: string): void {
  cluster.kill();
  setAge(cluster, age);
}

function setAge(cluster: MemoryCluster, age: string): void {
  const metadata = { annotations: { "clusterset-proxy.io/exported-at": age } };
  cluster.edit("serviceimports", `clusterset-registry-${cluster.id}/web.shop`, { metadata });
}

function metadataOf(cluster: MemoryCluster, map: "annotations" | "labels"): Fields {
  const found = cluster.read("serviceimports", KEY, "metadata", map);
  const own = ["clusterset-proxy.io/import", "clusterset-proxy.io/exports"];
  const others = Object.entries((found ?? {}) as Fields).filter(([key]) => !own.includes(key));
  return Object.fromEntries(others);
}

const eventsOf = (cluster: MemoryCluster) =>
  cluster.events("ServiceImport", "DecidingClusterChanged");

const NEAR = { exportedAnnotations: { [SELECTORS]: '["c2 only"]', [ON_DEATH]: "reset" } };

test("a peer's policies do not reach an import unless --accept-policies-from names the peer", async () => {
  const world = await exporting({ c1: { none: true }, c2: NEAR });
  const c1 = world.cluster("c1");
  assert.deepEqual(metadataOf(c1, "annotations"), {});
  assert.deepEqual(c1.metrics.refusedOf("c2"), { "policy-not-accepted": 2 });
  const open = await exporting({ c1: { none: true }, c2: NEAR }, ["--accept-policies-from", "c2"]);
  const accepting = open.cluster("c1");
  assert.deepEqual(metadataOf(accepting, "annotations"), NEAR.exportedAnnotations);
  assert.deepEqual(accepting.metrics.refusedOf("c2"), {});
});

test("policies are those of the cluster's own export, even where a peer with an older one is accepted", async () => {
  const own = { exportedAnnotations: { [SELECTORS]: "[]" } };
  const specs = { c1: own, c2: NEAR };
  const world = await exporting(specs, ["--accept-policies-from", "c2"]);
  const [c1, c2] = [world.cluster("c1"), world.cluster("c2")];
  assert.deepEqual(metadataOf(c2, "annotations"), NEAR.exportedAnnotations);
  backdate(c2, "2021-01-01T00:00:00Z");
  await world.pass(20_000);
  assert.deepEqual(metadataOf(c1, "annotations"), own.exportedAnnotations);
  assert.equal(c1.condition("serviceexports", KEY, "Conflict").reason, "NoConflicts");
});

test("a cluster that takes over the decision by its age is reported by one Event on the import of each other cluster", async () => {
  const world = await exporting({
    c1: { exportedLabels: { team: "one" } },
    c2: { exportedLabels: { team: "two" } },
    c3: { none: true },
  });
  const [c1, c2, c3] = [world.cluster("c1"), world.cluster("c2"), world.cluster("c3")];
  const others = [c1, c3];
  const before = others.map((cluster) => eventsOf(cluster).length);
  backdate(c2, "2021-01-01T00:00:00Z");
  await world.pass(20_000);
  for (const [i, cluster] of others.entries()) {
    assert.deepEqual(metadataOf(cluster, "labels"), { team: "two" });
    const events = eventsOf(cluster).slice(before[i]);
    assert.equal(events.length, 1);
    assert.match(
      String(events[0]),
      /^Warning DecidingClusterChanged: Cluster c2 decides conflicts now, instead of c1, /,
    );
  }
});

test("no Event is created when the oldest export is deleted, and the next one decides", async () => {
  const world = await exporting({ c1: {}, c2: {} });
  const c1 = world.cluster("c1");
  const before = world.clusters.map((cluster) => eventsOf(cluster));
  c1.delete("ServiceExport", KEY);
  await world.pass(20_000);
  for (const [i, cluster] of world.clusters.entries()) {
    const clusters = cluster.read("serviceimports", KEY, "status", "clusters");
    assert.deepEqual(clusters, [{ cluster: "c2" }]);
    assert.deepEqual(eventsOf(cluster), before[i]);
  }
});

test("--deciding-cluster names the cluster that decides in a namespace, whatever the ages", async () => {
  const specs = {
    c1: { exportedLabels: { team: "one" } },
    c2: { exportedLabels: { team: "two" } },
  };
  const world = await exporting(specs, ["--deciding-cluster", "other=c1,shop=c2"]);
  for (const cluster of world.clusters) {
    assert.deepEqual(metadataOf(cluster, "labels"), { team: "two" });
    const status = JSON.stringify(cluster.read("serviceexports", KEY, "status"));
    assert.match(status, /exportedLabels is taken from the deciding cluster, .* of c2; 1\/2/);
  }
});

test("an import gets only labels and annotations that --exported-keys matches", async () => {
  const labels = { team: "a", "example.com/a": "1", "example.org/b": "2", "example.org/c": "3" };
  const spec = { exportedLabels: labels, exportedAnnotations: labels };
  const world = await exporting({ c1: spec });
  const c1 = world.cluster("c1");
  for (const map of ["labels", "annotations"] as const) {
    assert.deepEqual(metadataOf(c1, map), { team: "a" });
  }
  assert.deepEqual(c1.metrics.refusedOf("c1"), { "key-not-allowed": 6 });
  const open = await exporting({ c1: spec }, ["--exported-keys", "example.com/*,example.org/b"]);
  const opened = open.cluster("c1");
  for (const map of ["labels", "annotations"] as const) {
    assert.deepEqual(metadataOf(opened, map), { "example.com/a": "1", "example.org/b": "2" });
  }
});
