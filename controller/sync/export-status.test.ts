import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { ExportCompleteness } from "./export-completeness.ts";

/** The condition Conflict of the export shop/web. */
const conflictOf = (cluster: MemoryCluster) =>
  cluster.condition("serviceexports", "shop/web", "Conflict").reason;

test("conflicts and their end are reported while a member was never synced", async () => {
  const world = new ControllerWorld(["c1", "c2", "c3"]);
  const [c1, c2] = world.clusters;
  const serve = (port: number) => c2.serve("shop/web", ["10.2.0.7"], [], port);
  c1.serve("shop/web", ["10.1.0.7"]);
  serve(8080);
  for (const cluster of [c1, c2]) {
    cluster.namespace("shop");
    cluster.start();
  }
  await world.pass(5000);
  for (const cluster of [c1, c2]) cluster.export("shop/web");
  const told = () => [c1, c2].map(conflictOf);
  for (const [port, reason] of [
    [8080, "PortConflict"],
    [80, "NoConflicts"],
    [8080, "PortConflict"],
  ] as const) {
    serve(port);
    await world.pass(10_000);
    assert.deepEqual(told(), [reason, reason]);
  }
});

for (const onHub of [false, true]) {
  test(`${onHub ? "on a hub" : "in a mesh"}: an export whose endpoints are all left out says so, until they are used, also after a restart`, async () => {
    const world = new ControllerWorld(["c1", "c2"], undefined, onHub);
    const [c1, c2] = world.clusters;
    const used = onHub ? "Exported" : "Ready";
    const reasons = () =>
      world.clusters.map((one) => one.condition("serviceexports", "shop/web").reason);
    const serve = (port: number, addresses = ["10.2.0.7"]) =>
      c2.serve("shop/web", addresses, [], port);
    for (const cluster of world.clusters) cluster.namespace("shop");
    c1.offer("shop/web", ["10.1.0.7"]);
    await world.run(5000);
    c2.offer("shop/web", ["10.2.0.7"]);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, used]);
    serve(8080);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, "EndpointsLeftOut"]);
    assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
    const since = c2.server.writes.length;
    await c2.restart();
    await world.pass(20_000);
    const rewritten = c2.writesAfter(since).filter(({ kind }) => kind === "serviceexports");
    assert.deepEqual(rewritten, [], "a restart says nothing new");
    serve(8080, []);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, used], "it has no endpoint");
    serve(8080);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, "EndpointsLeftOut"]);
    // The oldest export follows.
    c1.serve("shop/web", ["10.1.0.7"], [], 8080);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, used]);
    assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.7 10.2.0.7" });
    await world.stop();
  });
}

const NAMES = ["shop/api", "shop/cart", "shop/web"];
/** Milliseconds by which answers are later than events. */
const LATE_MS = 50;

test("an export deleted right after its status write is withdrawn, even if the watch reports it before the answer", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const cluster of world.clusters) {
    cluster.namespace("shop");
    for (const key of NAMES) cluster.offer(key, [cluster === c1 ? "10.1.0.7" : "10.2.0.7"]);
  }
  await world.run(20_000);
  const request = c1.server.request.bind(c1.server);
  c1.server.request = async (asked) => {
    const answer = await request(asked);
    const isStatus = asked.write !== undefined && asked.path.includes("/serviceexports/");
    if (isStatus) await new Promise<void>((resolve) => world.clock.after(LATE_MS, resolve));
    return answer;
  };
  const unlisten = c1.server.objects.listen(({ kind, key, type }) => {
    if (kind === "serviceexports" && type === "MODIFIED") c1.delete("ServiceExport", key);
  });
  for (const key of NAMES) c2.serve(key, ["10.2.0.7"], [], 8080);
  await world.pass(60_000);
  unlisten();
  assert.deepEqual(c1.server.objects.list("serviceexports"), []);
  const theirs = Object.fromEntries(NAMES.map((key) => [key, "vip 10.2.0.7"]));
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), theirs);
});

class Stage {
  readonly clock = new FakeClock();
  readonly registry = { isWatched: true };
  renewals = 0;
  readonly completeness = new ExportCompleteness(this.registry, this.clock, () => this.renewals++);

  /** Publishes an export, or fails for this reason. */
  async publish(reason?: FaultReason): Promise<void> {
    const act = async () => {
      if (reason !== undefined) throw new ApiFault(reason, "no");
    };
    await this.completeness.publish("shop/web", act).catch(() => undefined);
  }
}

test("the registry is complete once every queued name is published, and this is repeated", async () => {
  const stage = new Stage();
  stage.completeness.due("shop/web");
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, false);
  await stage.publish();
  assert.equal(stage.completeness.isSeen, true);
  stage.clock.advance(60_000);
  assert.ok(stage.renewals > 1 && stage.renewals < 10, String(stage.renewals));
});

test("a failed export delays completeness, a rejected one does not", async () => {
  const stage = new Stage();
  stage.completeness.due("shop/web");
  for (const reason of ["unreachable", "write-conflict", "forbidden"] as const) {
    await stage.publish(reason);
    assert.equal(stage.completeness.isSeen, false, reason);
  }
  await stage.publish("invalid");
  assert.equal(stage.completeness.isSeen, true);
  const full = new Stage();
  full.completeness.due("shop/web");
  await full.publish("refused");
  assert.equal(full.completeness.isSeen, true, "a ResourceQuota, for example");
});

test("a lost connection ends completeness until all names are published again", async () => {
  const stage = new Stage();
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, true);
  stage.completeness.due("shop/web");
  assert.equal(stage.completeness.isSeen, true, "a change of an export does not end completeness");
  stage.registry.isWatched = false;
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, false);
  stage.registry.isWatched = true;
  stage.completeness.update();
  assert.equal(stage.completeness.isSeen, false);
  await stage.publish();
  assert.equal(stage.completeness.isSeen, true);
});
