import assert from "node:assert/strict";
import { test } from "node:test";
import { parseClusterProperty } from "../../agent/model/parse-cluster-property.ts";
import { endpointRangesProperty } from "../../api/endpoint-ranges.ts";
import { keyOf } from "../../test/stages/cluster-manifests.ts";

import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const ALLOWED = "clusterset-proxy.io/allowed-namespaces";
const DENIED = "clusterset-proxy.io/denied-namespaces";
const NAMES = ["kube-system/dns", "shop/web", "team-a/api", "team-b/api"];

/** Both clusters have all namespaces, and c1 exports one Service in each. */
function fill(world: ControllerWorld): readonly [MemoryCluster, MemoryCluster] {
  const [c1, c2] = [world.cluster("c1"), world.cluster("c2")];
  for (const [i, key] of NAMES.entries()) {
    const [namespace = ""] = key.split("/");
    for (const cluster of world.clusters) cluster.namespace(namespace);
    c1.offer(key, [`10.1.0.${i + 1}`]);
  }
  return [c1, c2];
}

function importsOf(cluster: MemoryCluster): string[] {
  return Object.keys(cluster.imported()).sort();
}

test("annotations on a peer's Secret say in which namespaces it may export, and changes apply", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [, c2] = fill(world);
  await world.run(15_000);
  assert.deepEqual(importsOf(c2), NAMES);
  const scopes: readonly [Record<string, string>, readonly string[]][] = [
    [{ [ALLOWED]: "shop,team-*" }, ["shop/web", "team-a/api", "team-b/api"]],
    [{ [ALLOWED]: "shop, team-*", [DENIED]: "team-b" }, ["shop/web", "team-a/api"]],
    [{ [DENIED]: "kube-*" }, ["shop/web", "team-a/api", "team-b/api"]],
    // Invalid: everything stays as it was.
    [{ [DENIED]: "Shop" }, ["shop/web", "team-a/api", "team-b/api"]],
    [{ [ALLOWED]: "" }, ["shop/web", "team-a/api", "team-b/api"]],
    [{ [ALLOWED]: "none" }, []],
    [{}, NAMES],
  ];
  for (const [scope, names] of scopes) {
    c2.introduce("c1", undefined, scope);
    await world.pass(10_000);
    assert.deepEqual(importsOf(c2), names, JSON.stringify(scope));
    const refused = c2.metrics.refusedOf("c1")["namespace-not-allowed"] ?? 0;
    assert.equal(refused, NAMES.length - names.length);
  }
});

test("on a hub the annotations are on the namespace of the registry", async () => {
  const { world } = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = fill(world);
  world.declare("c1", { [ALLOWED]: "shop" });
  await world.run(15_000);
  assert.deepEqual(importsOf(c2), ["shop/web"]);
  // They do not limit what the cluster imports from itself.
  assert.deepEqual(importsOf(c1), NAMES);
});

const REFUSED = 'refused_parts{from="member",reason="outside-endpoint-cidrs"}';
const PROPERTY = endpointRangesProperty("c1");
const FAILED = "Failed to write a ClusterProperty; retrying";

/** Two members of a hub, of which c1 exports two endpoints, one in each of two ranges. */
function twoRanges(ranges: string) {
  const { world, c1, c2 } = ControllerWorld.withHub(["c1", "c2"]);
  c1.offer("shop/web", ["10.1.0.7", "10.9.0.9"]);
  const declare = (text: string) =>
    world.declare("c1", { "clusterset-proxy.io/endpoint-cidrs": text });
  declare(ranges);
  return { world, c1, c2, declare };
}

const BOTH = { "shop/web": "vip 10.1.0.7 10.9.0.9" };
const FIRST = { "shop/web": "vip 10.1.0.7" };

/** The ranges of c1 that a cluster publishes for its agents. */
function published(cluster: MemoryCluster, name = PROPERTY): unknown {
  return cluster.read("clusterproperties", name, "spec", "value");
}

test("the ranges that a hub declares for a peer limit endpoints, and are a ClusterProperty that agents accept; changes apply, until the peer leaves", async () => {
  const { world, c1, c2, declare } = twoRanges("10.1.0.0/16, fd00:10:1::/48");
  await world.run(15_000);
  assert.deepEqual(c2.imported(), FIRST);
  assert.match(await c2.metrics.text(), new RegExp(`${REFUSED} 1\n`));
  assert.equal(published(c2), "10.1.0.0/16,fd00:10:1::/48");
  assert.equal(published(c1), undefined, "not its own");
  const { problems } = parseClusterProperty(c2.server.objects.get("clusterproperties", PROPERTY));
  assert.deepEqual(problems, []);
  for (const ranges of ["10.1.0.0/16,10.9.0.0/16", "everything"]) {
    declare(ranges);
    await c2.importsAfter(5000, BOTH);
    assert.equal(published(c2), "10.1.0.0/16,10.9.0.0/16", "the last valid ones");
  }
  await c2.restart();
  await c2.importsAfter(20_000, BOTH, "ranges that are invalid from the start, too");
  declare("10.1.0.0/16");
  await c2.importsAfter(5000, FIRST);
  assert.equal(published(c2), "10.1.0.0/16");
  world.hub?.objects.delete("namespaces", "clusterset-registry-c1");
  await world.pass(30_000);
  assert.equal(published(c2), undefined);
});

test("ranges of peers are no properties of this cluster; another program's change is reverted, and a restart writes nothing", async () => {
  const { world, c2 } = twoRanges("10.1.0.0/16");
  await world.run(30_000);
  const leases = JSON.stringify([...(world.hub?.objects.list("leases") ?? [])]);
  assert.match(leases, /clusterset-registry-c2/);
  assert.doesNotMatch(leases, /endpoint-cidrs/);
  c2.edit("clusterproperties", PROPERTY, { spec: { value: "0.0.0.0/0" } });
  await world.pass(10_000);
  assert.equal(published(c2), "10.1.0.0/16");
  assert.deepEqual(await c2.writesAfterRestart(60_000, "clusterproperties"), []);
  assert.equal(published(c2), "10.1.0.0/16");
});

for (const [what, name, value] of [
  ["the ranges of a peer", PROPERTY, "10.1.0.0/16"],
  ["the cluster's ID", "cluster.clusterset.k8s.io", "c2"],
] as const) {
  test(`a write of ${what} to a ClusterProperty is retried until it succeeds, and the failure is logged and has an age`, async () => {
    const { world, c2 } = twoRanges("10.1.0.0/16");
    c2.server.denied.set(name, "a webhook is unavailable");
    await world.run(40_000);
    assert.equal(published(c2, name), undefined);
    assert.ok(c2.log.includes(FAILED));
    assert.ok((c2.controller?.queue.tasks.failingFor ?? 0) > 30_000);
    c2.server.denied.clear();
    await world.pass(7000);
    assert.equal(published(c2, name), value);
    assert.deepEqual(await c2.writesIn(120_000, "clusterproperties"), []);
  });
}

test("imports of a deleted namespace are not counted, those of a recreated one are", async () => {
  const { world, c2 } = await ControllerWorld.withExport(["c1", "c2"]);
  const counted = async () =>
    /clusterset_controller_imports\{reason="exported"\} (\d+)/.exec(await c2.metrics.text())?.[1];
  assert.equal(await counted(), "1");
  for (const kind of ["serviceimports", "endpointslices"]) {
    for (const object of c2.server.objects.list(kind))
      c2.server.objects.delete(kind, keyOf(object));
  }
  c2.server.objects.delete("namespaces", "shop");
  await c2.importsAfter(5000, {});
  assert.equal(await counted(), "0");
  c2.namespace("shop");
  await world.pass(5000);
  assert.equal(await counted(), "1");
});
