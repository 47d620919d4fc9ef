import assert from "node:assert/strict";
import { test } from "node:test";
import { parseClusterProperty } from "../../agent/model/parse-cluster-property.ts";
import { endpointRangesProperty } from "../../api/endpoint-ranges.ts";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const ID = "cluster.clusterset.k8s.io";

const FAILED = "Failed to write a ClusterProperty; retrying";

test("the creation of a ClusterProperty is retried until it succeeds, and the failure is logged and has an age", async () => {
  const world = new ControllerWorld(["c1"]);
  const [c1] = world.clusters;
  c1.server.denied.set(ID, "a webhook is unavailable");
  await world.run(40_000);
  assert.equal(c1.server.objects.get("clusterproperties", ID), undefined);
  assert.ok(c1.log.includes(FAILED));
  assert.ok((c1.controller?.queue.tasks.failingFor ?? 0) > 30_000);

  c1.server.denied.clear();
  await world.pass(7000);
  assert.equal(at(c1.server.objects.get("clusterproperties", ID), ["spec", "value"]), "c1");
  const { length } = c1.server.writes;
  await world.pass(120_000);
  const later = c1.server.writes.slice(length).map(({ kind }) => kind);
  assert.ok(!later.includes("clusterproperties"));
});

const NAMESPACE = "clusterset-registry-c1";
const PROPERTY = endpointRangesProperty("c1");

/** Two members of a hub; c2 publishes the ranges of c1 for its agents. */
function start() {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  assert.ok(c1 && c2 && world.hub);
  const { objects } = world.hub;
  const declare = (ranges: string): void => {
    const annotations = { "clusterset-proxy.io/endpoint-cidrs": ranges };
    const labels = { "clusterset-proxy.io/registry": "c1" };
    const metadata = { name: NAMESPACE, labels, annotations };
    objects.apply("namespaces", NAMESPACE, { kind: "Namespace", metadata }, "author");
  };
  const leave = () => objects.delete("namespaces", NAMESPACE);
  return { world, c1, c2, declare, leave };
}

function published({ server }: MemoryCluster): unknown {
  return at(server.objects.get("clusterproperties", PROPERTY), ["spec", "value"]);
}

test("the ranges of a peer are a ClusterProperty that agents accept; changes apply, and it is deleted when the peer leaves", async () => {
  const { world, c1, c2, declare, leave } = start();
  declare("10.1.0.0/16, fd00:10:1::/48");
  await world.run(15_000);
  assert.equal(published(c2), "10.1.0.0/16,fd00:10:1::/48");
  assert.equal(published(c1), undefined, "not its own");
  const { problems } = parseClusterProperty(c2.server.objects.get("clusterproperties", PROPERTY));
  assert.deepEqual(problems, []);
  declare("10.1.0.0/16");
  await world.pass(5000);
  assert.equal(published(c2), "10.1.0.0/16");
  declare("everything");
  await world.pass(5000);
  assert.equal(published(c2), "10.1.0.0/16", "the last valid ones");
  leave();
  await world.pass(30_000);
  assert.equal(published(c2), undefined);
});

test("another program's change is reverted, and a restart writes nothing", async () => {
  const { world, c2, declare } = start();
  declare("10.1.0.0/16");
  await world.run(15_000);
  const wrong = { metadata: { name: PROPERTY }, spec: { value: "0.0.0.0/0" } };
  c2.server.objects.apply("clusterproperties", PROPERTY, wrong, "author");
  await world.pass(10_000);
  assert.equal(published(c2), "10.1.0.0/16");
  await c2.stop();
  const { length } = c2.server.writes;
  c2.start();
  await world.pass(60_000);
  const later = c2.server.writes.slice(length).map(({ kind }) => kind);
  assert.ok(!later.includes("clusterproperties"), later.join());
  assert.equal(published(c2), "10.1.0.0/16");
});

test("ranges of peers are not published as properties of this cluster", async () => {
  const { world, c2, declare } = start();
  declare("10.1.0.0/16");
  await world.run(30_000);
  assert.ok(published(c2) !== undefined);
  const leases = JSON.stringify([...(world.hub?.objects.list("leases") ?? [])]);
  assert.match(leases, /clusterset-registry-c2/);
  assert.doesNotMatch(leases, /endpoint-cidrs/);
});

test("a failure to publish is logged and retried, and nothing else waits for it", async () => {
  const { world, c2, declare } = start();
  declare("10.1.0.0/16");
  c2.server.denied.set(PROPERTY, "a webhook is unavailable");
  await world.run(40_000);
  assert.equal(published(c2), undefined);
  assert.ok(c2.log.includes(FAILED));
  c2.server.denied.clear();
  await world.pass(7000);
  assert.equal(published(c2), "10.1.0.0/16");
});

test("the region of a cluster that joins applies at once, although it is the last of three properties that are applied together", async () => {
  const world = await ControllerWorld.withExport(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const [name, value] of [
    ["clusterset.k8s.io", "all"],
    ["tier.example.com", "gold"],
    ["region.topology.k8s.io", "eu-west"],
  ] as const) {
    const property = { kind: "ClusterProperty", metadata: { name }, spec: { value } };
    c1.server.objects.apply("clusterproperties", name, property, "author");
    await world.pass(20);
  }
  await world.pass(3000);
  assert.match(JSON.stringify(c2.server.objects.list("endpointslices")), /eu-west/);
});
