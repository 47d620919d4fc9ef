import assert from "node:assert/strict";
import { test } from "node:test";
import { CONTROLLER_NAME } from "../../api/keys.ts";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { registryNamespace } from "../registry/names.ts";

const SHIFT = "clusterset-proxy.io/shift";
const MINUTE = 60_000;
const USED = { "shop/web": "vip 10.1.0.7" };
const LAST = { "shop/web": "vip 10.1.0.7(serving)" };
const RECORD = "c1.rotation.clusterset-proxy.io";

async function begin(world: ControllerWorld, flags: readonly string[]): Promise<void> {
  for (const cluster of world.clusters) cluster.flags = flags;
  world.cluster("c1").offer("shop/web", ["10.1.0.7"]);
  await world.run(40_000);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), USED);
}

/** Two members of a hub, of which c1 exports shop/web; `flags` of both. */
async function open(...flags: readonly string[]) {
  const opened = ControllerWorld.withHub(["c1", "c2"]);
  await begin(opened.world, flags);
  return opened;
}

const shiftsOf = (cluster: MemoryCluster) =>
  cluster.shifts().filter((shift) => shift !== undefined);

/** A slice of c1 as a tenant writes it, in a namespace of his own. */
function forge(cluster: MemoryCluster, shift: string): void {
  cluster.namespace("tenant");
  const labels = {
    "endpointslice.kubernetes.io/managed-by": CONTROLLER_NAME,
    "multicluster.kubernetes.io/service-name": "own",
    "multicluster.kubernetes.io/source-cluster": "c1",
  };
  cluster.slice("tenant/forged", ["10.1.0.66"], { labels, annotations: { [SHIFT]: shift } });
}

/** Slices that are written in the namespace shop in so long, after something has happened. */
async function slicesIn(cluster: MemoryCluster, ms: number, act: () => void): Promise<string[]> {
  const slices = await cluster.writesIn(ms, "endpointslices", act);
  return slices.map(({ key }) => key).filter((key) => key.startsWith("shop/"));
}

test("a tenant's slice does not decide how a cluster is used after a start", async () => {
  for (const direction of ["returning", "draining"]) {
    const { world, c2 } = await open();
    c2.kill();
    forge(c2, `from=${world.timeIn()}; for=3600s; direction=${direction}`);
    assert.deepEqual(await slicesIn(c2, MINUTE, () => c2.start()), []);
    assert.deepEqual(shiftsOf(c2), []);
  }
});

test("a cluster that was stale before a start is stale after it, whatever a tenant writes", async () => {
  const { world, c1, c2 } = await open();
  c1.kill();
  await c2.importsAfter(MINUTE, LAST);
  c2.kill();
  forge(c2, `from=${world.timeIn()}; for=3600s; direction=draining`);
  c2.start();
  for (let seconds = 0; seconds < 90; seconds++) {
    await c2.importAfter(1000, "shop/web", LAST["shop/web"]);
  }
});

test("a change of the leader writes no slice, however long the cluster was out of rotation by each replica's clock", async () => {
  const { world, c1, c2 } = await open("--drain-window", "300s");
  // A replica that was started later saw less of the absence.
  for (const late of [0, 15_000, 55_000]) {
    c1.kill();
    await world.pass(40_000 + late);
    c2.start();
    await world.pass(45_000);
    c1.start();
    await c2.importsAfter(20_000, USED);
    c1.annotate(world.drain(5));
    await world.pass(6 * MINUTE);
    const shifts = shiftsOf(c2);
    assert.equal(shifts.length, 1);
    assert.deepEqual(await slicesIn(c2, 90_000, () => c2.kill()), []);
    assert.deepEqual(shiftsOf(c2), shifts);
  }
});

test("own endpoints that were held back before a start are used when they are ready again, while the hub is down, and do not return node by node", async () => {
  const { world, c1 } = await open();
  // All are unready, as after an outage.
  c1.serve("shop/web", ["10.1.0.7"], ["10.1.0.7"]);
  c1.server.fail();
  await world.pass(60_000);
  c1.server.down = false;
  await world.pass(20_000);
  const [slice] = c1.server.objects
    .list("endpointslices")
    .filter((each) =>
      at(each, ["metadata", "labels", "multicluster.kubernetes.io/source-cluster"]),
    );
  assert.ok(slice);
  const key = `shop/${String(at(slice, ["metadata", "name"]))}`;
  c1.kill();
  // As an outage leaves it: held back.
  const endpoints = [{ addresses: ["10.1.0.7"], conditions: { ready: false, serving: true } }];
  c1.server.objects.apply("endpointslices", key, { ...slice, endpoints }, CONTROLLER_NAME);
  assert.deepEqual(c1.imported(), LAST);
  world.hub?.fail();
  c1.serve("shop/web", ["10.1.0.7"]);
  c1.start();
  await c1.importsAfter(30_000, USED);
  assert.deepEqual(shiftsOf(c1), []);
});

test("a drain whose object cannot be read after a start ends at its time, and is shown until then", async () => {
  const { world, c1 } = await open();
  world.declare("c1", world.drain(10));
  await c1.importsAfter(5000, LAST);
  const message = c1.ready();
  assert.match(message, /Drained: c1 until 2026-06-01T00:10:\S+ by ann \(kernel upgrade\)\.$/);
  world.hub?.fail();
  c1.kill();
  c1.start();
  for (let minute = 0; minute < 9; minute++) {
    await world.pass(MINUTE);
    assert.deepEqual([c1.imported(), c1.ready()], [LAST, message]);
  }
  await c1.importsAfter(2 * MINUTE, USED);
  assert.doesNotMatch(c1.ready(), /Drained/);
});

test("a peer's drain that cannot be read after a start is known until its end, and over when the peer can be read", async () => {
  const { world, c1, c2 } = await ControllerWorld.withExport(["c1", "c2"]);
  await world.pass(40_000);
  c1.annotate(world.drain(10));
  await c2.importsAfter(5000, LAST);
  c1.server.fail();
  c2.kill();
  c2.start();
  const drainIn = ({ controller }: MemoryCluster) => controller?.members.state("c1")?.drain;
  await world.pass(9 * MINUTE);
  const { where, by, reason } = drainIn(c2) ?? {};
  assert.deepEqual([where, by, reason], [`ClusterProperty ${RECORD}`, "ann", "kernel upgrade"]);
  await world.pass(2 * MINUTE);
  assert.equal(drainIn(c2), undefined);
  assert.deepEqual(c2.imported(), LAST, "which of its endpoints are ready is unknown");
  c1.server.down = false;
  await c2.importsAfter(MINUTE, USED);
});

test("what is recorded is a property of no cluster, and is deleted with its cluster", async () => {
  const { world, c1, c2 } = await open();
  c1.annotate(world.drain(10));
  await world.pass(MINUTE);
  for (const cluster of [c1, c2]) assert.ok(cluster.has("clusterproperties", RECORD));
  const leases = JSON.stringify(world.hub?.objects.list("leases"));
  assert.match(leases, /clusterset-registry-c1/);
  assert.doesNotMatch(leases, /rotation/);
  world.hub?.objects.delete("namespaces", registryNamespace("c1"));
  await world.pass(MINUTE);
  assert.equal(c2.has("clusterproperties", RECORD), false);
});

test("a drain that cannot be recorded takes effect and ends all the same, and the failure is logged", async () => {
  const { world, c2 } = await open();
  c2.server.denied.set(RECORD, "a webhook is unavailable");
  world.declare("c1", world.drain(5));
  await c2.importsAfter(2 * MINUTE, LAST);
  assert.ok(c2.log.includes("Failed to write a ClusterProperty; retrying"));
  world.declare("c1", {});
  await c2.importsAfter(2 * MINUTE, USED);
});

test("the own drain that was removed while controller and hub were down is over at the start", async () => {
  const { world, c1 } = await open();
  c1.annotate(world.drain(60));
  await c1.importsAfter(5000, LAST);
  world.hub?.fail();
  c1.kill();
  c1.annotate({});
  c1.start();
  await c1.importsAfter(30_000, USED);
});

test("a drain that was removed on the hub while the controller was down ends when the hub is listed", async () => {
  const { world, hub, c1, c2 } = await open();
  world.declare("c1", world.drain(60));
  await world.pass(5000);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), LAST);
  hub.fail();
  for (const cluster of world.clusters) cluster.kill();
  world.declare("c1", {});
  for (const cluster of world.clusters) cluster.start();
  await c1.importsAfter(MINUTE, LAST);
  hub.down = false;
  await world.pass(MINUTE);
  for (const cluster of [c1, c2]) assert.deepEqual(cluster.imported(), USED);
});

async function inMesh(...flags: readonly string[]) {
  const opened = ControllerWorld.of(["c1", "c2", "c3"]);
  await begin(opened.world, flags);
  return opened;
}

test("a cluster that drains itself is a last resort everywhere, its own clients included, until the drain ends by itself", async () => {
  const { world, c1, c2, c3 } = await inMesh();
  c1.annotate(world.drain(10));
  await world.pass(5000);
  for (const cluster of [c1, c2, c3]) assert.deepEqual(cluster.imported(), LAST);
  const message =
    /^True Ready ClusterSetIP [\d.]+\. Drained: c1 until 2026-06-01T00:10:\d\d\.\d{3}Z by ann \(kernel upgrade\)\.$/;
  assert.match(c2.ready(), message);
  await world.pass(11 * MINUTE);
  for (const cluster of [c1, c2, c3]) assert.deepEqual(cluster.imported(), USED);
  assert.match(c2.ready(), /^True Ready ClusterSetIP [\d.]+\.$/);
});

test("a drain on a peer's Secret takes effect in that cluster alone, also if the peer cannot be reached", async () => {
  const { world, c1, c2, c3 } = await inMesh();
  c2.introduce("c1", "to c1", world.drain(10));
  await world.pass(2000);
  assert.deepEqual([c1.imported(), c2.imported(), c3.imported()], [USED, LAST, USED]);
  c1.server.fail();
  await c2.importsAfter(12 * MINUTE, LAST);
  c1.server.down = false;
  await c2.importsAfter(MINUTE, USED);
});

test("an invalid drain is reported, and drains nothing", async () => {
  const { world, c1, c2 } = await inMesh();
  c1.annotate({ "clusterset-proxy.io/drain": "from=2026-06-01T00:00:00Z; by=ann" });
  c2.introduce("c1", "to c1", { "clusterset-proxy.io/drain": "true" });
  await world.pass(5000);
  for (const cluster of [c1, c2]) {
    assert.deepEqual(cluster.imported(), USED);
    assert.deepEqual(cluster.metrics.refusedOf(undefined), { "invalid-drain": 1 });
  }
});

test("a peer cannot drain another one: each registry's Lease speaks for its own cluster", async () => {
  const { world, c1, c2, c3 } = await inMesh();
  c2.offer("shop/web", ["10.2.0.7"]);
  await world.pass(40_000);
  c2.annotate(world.drain(10, "c1"));
  await world.pass(5000);
  for (const cluster of [c1, c2, c3]) {
    assert.deepEqual(cluster.imported(), { "shop/web": "vip 10.1.0.7 10.2.0.7(serving)" });
  }
});

test("slices show nodes the windows in which they leave and return, also when the controller is killed in between, and need no write at their end", async () => {
  const { world, c1, c2 } = await inMesh("--drain-window", "600s", "--return-window", "60s");
  c1.annotate(world.drain(20));
  await world.pass(5000);
  const [draining] = c2.shifts();
  assert.match(String(draining), /^from=2026-06-01T00:00:\S+; for=600s; direction=draining$/);
  c2.kill();
  c2.start();
  const writes = c2.server.writes.length;
  await world.pass(15 * MINUTE);
  assert.deepEqual(c2.shifts(), [draining]);
  const slices = () => c2.writesAfter(writes, "endpointslices");
  assert.deepEqual(slices(), []);
  await c2.importsAfter(6 * MINUTE, USED);
  const [returning] = c2.shifts();
  assert.match(String(returning), /^from=2026-06-01T00:20:\S+; for=60s; direction=returning$/);
  c2.kill();
  c2.start();
  await world.pass(5 * MINUTE);
  assert.deepEqual(c2.shifts(), [returning]);
  assert.equal(slices().length, 1);
});

test("a cluster that drains itself while the hub is down leaves its own endpoints at once, also after a restart", async () => {
  const { world, hub, c1, c2 } = ControllerWorld.withHub(["c1", "c2"]);
  c1.offer("shop/web", ["10.1.0.7"]);
  world.start();
  // Its description has just changed, and changes again after 30 s only.
  await world.pass(40_000);
  hub.fail();
  c1.annotate(world.drain(10));
  await c1.importsAfter(5000, LAST);
  c1.kill();
  c1.start();
  for (let seconds = 0; seconds < 60; seconds++) await c1.importsAfter(1000, LAST);
  hub.down = false;
  await c2.importsAfter(30_000, LAST, "published now");
  hub.fail();
  c1.kill();
  await c1.importsAfter(11 * MINUTE, LAST);
  c1.start();
  await c1.importsAfter(30_000, USED, "it is over, whatever the hub shows");
  hub.down = false;
  await world.pass(MINUTE);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), USED);
});
