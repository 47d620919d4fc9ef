import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const KEY = "shop/web";
const REASONS = ["EndpointsFartherAway", "EndpointsNearer", "NoReadyEndpoint"];

const eventsOf = (cluster: MemoryCluster) => cluster.events("ServiceImport", ...REASONS);

async function open() {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const [cluster, address] of [
    [c1, "10.1.0.7"],
    [c2, "10.2.0.7"],
  ] as const) {
    cluster.namespace("shop");
    cluster.offer(KEY, [address]);
  }
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
