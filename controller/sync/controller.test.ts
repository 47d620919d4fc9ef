import assert from "node:assert/strict";
import { test } from "node:test";

import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

test("of two clusters with one ID on a hub the second publishes nothing, imports its own endpoints, and both report it", async () => {
  const { world } = ControllerWorld.withHub(["c1", "c1-other", "c2"]);
  const [first, second, c2] = world.clusters;
  first.offer("shop/web", ["10.1.0.7"]);
  first.start();
  c2.start();
  await world.pass(15_000);
  second.offer("shop/web", ["10.9.0.9"]);
  second.start();
  await c2.importsAfter(60_000, { "shop/web": "vip 10.1.0.7" });
  assert.deepEqual(second.imported(), { "shop/web": "vip 10.9.0.9" }, "its own endpoints");
  assert.deepEqual(first.imported(), { "shop/web": "vip 10.1.0.7" });
  for (const { log, name } of [first, second]) {
    assert.match(log.join("\n"), /Another cluster publishes under our cluster ID/, name);
  }
  assert.match(c2.log.join("\n"), /Cluster failed identity checks/);
  assert.equal(second.condition("serviceexports", "shop/web").reason, "Pending");
  await second.stop();
  await c2.importsAfter(60_000, { "shop/web": "vip 10.1.0.7" });
  assert.equal(
    c2.controller?.members.state("c1")?.verdict.reason,
    "member",
    "the conflict has ended",
  );
});

test("a label that is no longer exported is removed, another writer's label stays", async () => {
  const { world, c1 } = ControllerWorld.of(["c1"]);
  world.start();
  c1.serve("shop/web", ["10.1.0.7"]);
  const metadata = { namespace: "shop", name: "web" };
  const exported = { kind: "ServiceExport", metadata };
  c1.apply({ ...exported, spec: { exportedLabels: { team: "a", tier: "x" } } });
  await world.pass(5000);
  const labels = () => c1.read("serviceimports", "shop/web", "metadata", "labels");

  assert.deepEqual(labels(), { team: "a", tier: "x" });
  c1.edit("serviceimports", "shop/web", { metadata: { labels: { mine: "1" } } });
  await c1.stop();
  c1.apply({ ...exported, spec: { exportedLabels: { team: "b" } } });
  c1.start();
  await world.pass(5000);
  assert.deepEqual(labels(), { mine: "1", team: "b" });
  assert.deepEqual(await c1.writesIn(60_000), []);
});

test("a Secret with an unusable kubeconfig removes nothing, even across a restart, and a fixed one reconnects", async () => {
  const { world, c1, c2 } = await ControllerWorld.withExport(["c1", "c2"]);
  world.misguided.add("c1");
  await c2.restart();
  await c2.importsAfter(60_000, { "shop/web": "vip 10.1.0.7(serving)" });
  assert.match(c2.log.join("\n"), /Cannot use the kubeconfig in a peer's Secret/);
  world.misguided.clear();
  c2.introduce("c1", "another kubeconfig of c1");
  await c2.importsAfter(20_000, { "shop/web": "vip 10.1.0.7" });
  c2.introduce("c1", "a third kubeconfig of c1");
  assert.deepEqual(await c2.writesIn(20_000), [], "a token that is rotated is nothing to write of");
  c1.serve("shop/web", ["10.1.0.8"]);
  await c2.importsAfter(1000, { "shop/web": "vip 10.1.0.8" });
});

test("a controller that is stopped leaves no timer, whether its peers and its hub are there or not", async () => {
  for (const isDown of [false, true]) {
    for (const onHub of [false, true]) {
      const { world, c1 } = ControllerWorld.of(["c1", "c2"], undefined, onHub);
      c1.offer("shop/web", ["10.1.0.7"]);
      await world.run(60_000);
      if (isDown) for (const server of [c1.server, world.hub]) server?.fail();
      await world.pass(60_000);
      await world.stop();
      assert.equal(world.clock.pending, 0);
    }
  }
});

const KEY = "shop/web";
const REASONS = ["EndpointsFartherAway", "EndpointsNearer", "NoReadyEndpoint"];

const eventsOf = (cluster: MemoryCluster) => cluster.events("ServiceImport", ...REASONS);

async function open() {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"]);
  c1.offer(KEY, ["10.1.0.7"]);
  c2.offer(KEY, ["10.2.0.7"]);
  await world.run(40_000);
  return { world, c1, c2 };
}

test("an import has an Event when its own cluster, or every cluster, loses its last ready endpoint, and when one returns", async () => {
  const { world, c1, c2 } = await open();
  assert.deepEqual([eventsOf(c1), eventsOf(c2)], [[], []], "a start is no news");
  c1.serve(KEY, []);
  await world.pass(5000);
  const away =
    "Warning EndpointsFartherAway: The nearest ready endpoints are in clusters of other regions, or of an unknown one: c2.";
  assert.deepEqual(eventsOf(c1), [away]);
  c2.serve(KEY, []);
  await world.pass(5000);
  const none = "Warning NoReadyEndpoint: No cluster has a ready endpoint in rotation.";
  assert.deepEqual(eventsOf(c1), [away, none]);
  assert.deepEqual(eventsOf(c2), [none]);
  c1.serve(KEY, ["10.1.0.7"]);
  await world.pass(5000);
  const back = "Normal EndpointsNearer: The nearest ready endpoints are in this cluster: c1.";
  assert.deepEqual(eventsOf(c1), [away, none, back]);
});

test("a cluster that is stale, and one that begins to export, count as what they are: a loss, and no return", async () => {
  const { world, c1, c2 } = await open();
  c1.delete("ServiceExport", KEY);
  await world.pass(5000);
  assert.equal(eventsOf(c1).length, 1, "farther away");
  c1.export(KEY);
  await world.pass(5000);
  assert.equal(eventsOf(c1).length, 1, "a new export is no return");
  c1.serve(KEY, []);
  await world.pass(5000);
  c2.server.fail();
  await world.pass(60_000);
  assert.match(eventsOf(c1).at(-1) ?? "", /^Warning NoReadyEndpoint:/);
});

test("endpoints that come and go all the time cause 25 Events in a direction, and the next one has the number of those left out", async () => {
  const { world, c1 } = await open();
  for (let i = 0; i < 40; i++) {
    c1.serve(KEY, []);
    await world.pass(1000);
    c1.serve(KEY, ["10.1.0.7"]);
    await world.pass(1000);
  }
  const of = (reason: string) => eventsOf(c1).filter((event) => event.includes(reason));
  assert.equal(of("EndpointsFartherAway").length, 25);
  assert.equal(of("EndpointsNearer").length, 25);
  await world.pass(600_000);
  c1.serve(KEY, []);
  await world.pass(5000);
  assert.match(of("EndpointsFartherAway").at(-1) ?? "", / x16: /);
});
