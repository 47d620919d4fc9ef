import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import type { MemoryCluster } from "../../test/stages/controller-world.ts";
import { eventsOf, failover, open, reasonOf, slicesOf } from "../../test/stages/failover-world.ts";

// What a rollout or a scale to zero does: Kubernetes marks endpoints as terminating, and removes them once they have ended.

const LEAVING = { ready: false, serving: true, terminating: true };
const READY = { ready: true, serving: true, terminating: false };

/** The Service's own endpoints, all in this state; undefined: it has none. */
function local({ server }: MemoryCluster, conditions: object | undefined): void {
  const endpoints = conditions === undefined ? [] : [{ addresses: ["10.1.0.7"], conditions }];
  const labels = { "kubernetes.io/service-name": "web" };
  server.objects.apply(
    "endpointslices",
    "shop/web-1",
    {
      kind: "EndpointSlice",
      metadata: { namespace: "shop", name: "web-1", labels },
      addressType: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      endpoints,
    },
    "author",
  );
}

/** Conditions of the endpoints of other clusters. */
function conditionsOf(cluster: MemoryCluster): unknown[] {
  return slicesOf(cluster).flatMap(({ endpoints }) =>
    (Array.isArray(endpoints) ? endpoints : []).map((endpoint) => at(endpoint, ["conditions"])),
  );
}

test("endpoints of another cluster are ready from the moment when the last local ones terminate until they are gone, without an Event", async () => {
  const { world, c1 } = await open();
  const events = eventsOf(c1);
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(conditionsOf(c1), [LEAVING]);
    local(c1, LEAVING);
    await world.pass(1000);
    assert.deepEqual(conditionsOf(c1), [READY]);
    assert.equal(reasonOf(c1), "local-terminating");
    assert.match(await c1.metrics.text(), /failover_services{reason="local-terminating"} 1/);
    local(c1, undefined);
    await world.pass(1000);
    assert.deepEqual(conditionsOf(c1), [LEAVING]);
    local(c1, READY);
    await world.pass(1000);
  }
  assert.equal(reasonOf(c1), "failover-prepared");
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  assert.deepEqual(eventsOf(c1), events);
});

test("a controller that ends meanwhile leaves them ready, and the next one takes it back, also of a cluster that cannot be reached", async () => {
  const { world, c1, c2, c3 } = await open();
  local(c1, LEAVING);
  await world.pass(1000);
  await c1.stop();
  for (const { server } of [c2, c3]) {
    server.fail();
  }
  local(c1, READY);
  assert.deepEqual(conditionsOf(c1), [READY]);
  c1.start();
  await world.pass(20_000);
  assert.deepEqual(conditionsOf(c1), [LEAVING]);
  assert.deepEqual([failover(c1), reasonOf(c1)], [["c2 10.2.0.7"], "not-heard"]);
});
