import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { keyOf } from "../../test/stages/cluster-manifests.ts";
import type { MemoryCluster } from "../../test/stages/controller-world.ts";
import {
  failover,
  KEY,
  MANAGED_BY,
  open,
  reasonOf,
  slicesOf,
} from "../../test/stages/failover-world.ts";
import { debugView } from "../observe/debug.ts";

// What a rollout or a scale to zero does: Kubernetes marks endpoints as terminating, and removes them once they have ended.

const LEAVING = { ready: false, serving: true, terminating: true };
const READY = { ready: true, serving: true, terminating: false };

/** The Service's own endpoints, all in this state; undefined: it has none. */
function local(cluster: MemoryCluster, conditions: object | undefined): void {
  const endpoints = conditions === undefined ? [] : [{ addresses: ["10.1.0.7"], conditions }];
  cluster.slice("shop/web-1", [], { endpoints });
}

/** Conditions of the endpoints of other clusters. */
function conditionsOf(cluster: MemoryCluster): unknown[] {
  return slicesOf(cluster).flatMap(({ endpoints }) =>
    (Array.isArray(endpoints) ? endpoints : []).map((endpoint) => at(endpoint, ["conditions"])),
  );
}

test("endpoints of another cluster are ready from the moment when the last local ones terminate until they are gone, without an Event", async () => {
  const { world, c1 } = await open();
  const events = c1.events("Service");
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
  assert.deepEqual(c1.events("Service"), events);
});

test("a controller that ends meanwhile leaves them ready, and the next one takes it back, also of a cluster that cannot be reached", async () => {
  const { world, c1, c2, c3 } = await open();
  local(c1, LEAVING);
  await world.pass(1000);
  await c1.stop();
  for (const { server } of [c2, c3]) server.fail();
  local(c1, READY);
  assert.deepEqual(conditionsOf(c1), [READY]);
  c1.start();
  await world.pass(20_000);
  assert.deepEqual(conditionsOf(c1), [LEAVING]);
  assert.deepEqual([failover(c1), reasonOf(c1)], [["c2 10.2.0.7"], "not-heard"]);
});

const inShop = ({ server }: MemoryCluster) =>
  server.objects.list("endpointslices").filter((one) => keyOf(one).startsWith("shop/"));

/** Admission of c1 that answers creations of slices in shop, if there are so many. */
function admission(cluster: MemoryCluster, status: number, message: string, most = 0): void {
  cluster.server.admit = ({ kind, key }) => {
    if (kind !== "endpointslices" || !key.startsWith("shop/") || inShop(cluster).length < most)
      return;
    throw new Refusal(status, message, { name: key.slice(5) });
  };
}

test("a full quota of EndpointSlices does not stop a change of the target: an old slice makes room", async () => {
  const { c1, c2, leadsTo } = await open();
  const quota = 'endpointslices "web" is forbidden: exceeded quota: slices';
  admission(c1, 403, quota, inShop(c1).length);
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await leadsTo(10_000, ["c3 10.3.0.7"]);
  assert.equal(reasonOf(c1), "failover-prepared");
  const failures = /task_failures_total{[^}]*task="failover"/;
  assert.doesNotMatch(await c1.metrics.text(), failures, "at once, without a retry");
});

test("admission that refuses new slices does not keep those of dead endpoints, and the reason is reported", async () => {
  const { world, c1, c2, leadsTo } = await open();
  for (let i = 2; i <= 8; i++) {
    const ports = [{ name: "http", protocol: "TCP", port: 8000 + i }];
    c2.slice(`shop/web-${i}`, [`10.2.1.${i}`], { ports });
  }
  await world.pass(5000);
  assert.equal(slicesOf(c1).length, 8);
  admission(c1, 403, 'endpointslices "web" is forbidden: ValidatingAdmissionPolicy denies it');
  c2.delete("ServiceExport", KEY);
  for (let i = 0; i < 100 && slicesOf(c1).length > 0; i++) await leadsTo(100, []);
  assert.match(
    await c1.metrics.text(),
    /task_failures_total{task="failover",reason="refused"} [1-3]\n/,
    "not one slice with each retry",
  );
  assert.equal(reasonOf(c1), "slice-refused");
  assert.match(
    c1.events("Service").at(-1) ?? "",
    /^Warning FailoverNotPrepared: .*\(slice-refused\)/,
  );
  assert.match(await c1.metrics.text(), /failover_services{reason="slice-refused"} 1/);
  c1.server.admit = () => {};
  await leadsTo(120_000, ["c3 10.3.0.7"]);
  assert.equal(reasonOf(c1), "failover-prepared");
});

test("an error that may pass keeps the present slices until new ones are written", async () => {
  const { c1, c2, leadsTo } = await open();
  admission(c1, 500, "etcdserver: request timed out");
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await leadsTo(10_000, ["c2 10.2.0.7"]);
  c1.server.admit = () => {};
  await leadsTo(120_000, ["c3 10.3.0.7"]);
});

test("an error that may pass of one slice is no Event, and one that lasts names what is left", async () => {
  const { world, c1, c3, leadsTo } = await open("--cluster-regions", "c3=eu");
  c3.delete("ServiceExport", KEY);
  await leadsTo(10_000, ["c2 10.2.0.7"]);
  const events = c1.events("Service");
  admission(c1, 500, "etcdserver: request timed out");
  c3.export(KEY);
  await world.pass(10_000);
  assert.deepEqual(c1.events("Service"), events);
  admission(c1, 403, 'admission webhook "slices" denied the request: no');
  await leadsTo(120_000, ["c2 10.2.0.7"]);
  assert.match(
    c1.events("Service").at(-1) ?? "",
    /^Warning FailoverPrepared: .* leads to endpoints of: c2\. \(slice-refused\)/,
  );
});

test("a replica that is no longer the leader reports no Service; the next one reports each once, writes nothing and creates no Event", async () => {
  const { world, c1 } = await open();
  const [before, events] = [c1.server.writes.length, c1.events("Service")];
  c1.start();
  await world.pass(5000);
  const first = c1.controller;
  assert.ok(first !== undefined);
  await c1.stop();
  assert.equal(debugView(first, () => ({})).failover, undefined);
  await world.pass(60_000);
  assert.equal(reasonOf(c1), "failover-prepared");
  assert.match(await c1.metrics.text(), /failover_services{reason="failover-prepared"} 1\n/);
  assert.deepEqual(c1.writesAfter(before), []);
  assert.deepEqual(c1.events("Service"), events);
});

test("a slice that is edited or deleted is put back, and one of another program with its name is left alone", async () => {
  const { world, c1, leadsTo } = await open();
  const [slice = {}] = slicesOf(c1);
  const key = keyOf(slice);
  const endpoints = [{ addresses: ["10.9.9.9"], conditions: { ready: true } }];
  c1.edit("endpointslices", key, { endpoints });
  await world.pass(3000);
  assert.deepEqual(slicesOf(c1)[0]?.endpoints, slice.endpoints);
  c1.delete("EndpointSlice", key);
  await leadsTo(3000, ["c2 10.2.0.7"]);
  await c1.stop();
  c1.delete("EndpointSlice", key);
  c1.slice(key, [], { ports: [], labels: { [MANAGED_BY]: "another" } });
  c1.start();
  await world.pass(20_000);
  const read = (...path: readonly string[]) => c1.read("endpointslices", key, ...path);
  assert.equal(read("metadata", "labels", MANAGED_BY), "another");
  assert.deepEqual(read("endpoints"), []);
  assert.equal(reasonOf(c1), "slice-foreign");
});

test("slices stay while the controller is down, and a start without the other clusters changes nothing until they are heard or stale", async () => {
  const { c1, c2, c3, leadsTo } = await open();
  await c1.stop();
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c2.server.fail();
  c3.server.fail();
  const writes = c1.server.writes.length;
  c1.start();
  await leadsTo(20_000, ["c2 10.2.0.7"]);
  assert.equal(reasonOf(c1), "not-heard");
  await leadsTo(90_000, ["c2 10.2.0.7"], "stale, and nothing better is known");
  c3.server.down = false;
  await leadsTo(90_000, ["c3 10.3.0.7"]);
  c2.server.down = false;
  await leadsTo(90_000, ["c2 10.2.0.7"]);
  const touched = c1.server.writes.slice(writes).filter(({ key }) => key.includes(".failover."));
  assert.equal(touched.length, 4, "two slices written, two deleted");
});
