import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import type { ClusterFact } from "../model/facts.ts";
import { ClusterLiveness, LEASE_SECONDS } from "./cluster-liveness.ts";

function watch() {
  const clock = new FakeClock();
  const told: string[] = [];
  const clusters = new ClusterLiveness(clock, {
    silent: () => undefined,
    turned: (cluster, { state, reason }) => told.push(`${cluster} ${state}: ${reason}`),
    replaced: (cluster, uid, before) => told.push(`${cluster}: ${uid} after ${before}`),
  });
  return { clock, clusters, told };
}

function lease(id: string, renewal: string, more: Partial<ClusterFact> = {}): ClusterFact {
  return {
    id,
    uid: `uid-${id}`,
    properties: {},
    leaseSeconds: 10,
    renewal,
    complete: true,
    ...more,
  };
}

test("a cluster is stale one Lease duration after its last renewal, and alive with the next one", () => {
  const { clock, clusters, told } = watch();
  clusters.expect("c1");
  clusters.seen(lease("c1", "1"));
  assert.deepEqual(clusters.status("c1"), { state: "alive", reason: "awaited", uid: "uid-c1" });
  clock.advance(5000);
  clusters.seen(lease("c1", "2"));
  assert.equal(clusters.status("c1")?.reason, "renewing");
  clock.advance(11_000);
  assert.deepEqual(told, ["c1 stale: lease-silent"]);
  clusters.seen(lease("c1", "3"));
  assert.deepEqual(told, ["c1 stale: lease-silent", "c1 alive: renewing"]);
});

test("a stale cluster stays stale until its Lease is marked complete, or was renewed for a whole duration", () => {
  const { clock, clusters, told } = watch();
  clusters.seen(lease("c1", "1"));
  clusters.seen(lease("c1", "2"));
  clock.advance(11_000);
  for (const second of [2, 4, 6, 8]) {
    clusters.seen(lease("c1", `back for ${second}`), false);
    clock.advance(2000);
  }
  assert.deepEqual(told, ["c1 stale: lease-silent"]);
  clusters.seen(lease("c1", "all is there"), true);
  assert.deepEqual(told.splice(0), ["c1 stale: lease-silent", "c1 alive: renewing"]);
  clock.advance(11_000);
  for (const second of [0, 3, 6, 9]) {
    clusters.seen(lease("c1", `back again for ${second}`), false);
    clock.advance(3000);
  }
  assert.deepEqual(told, ["c1 stale: lease-silent"]);
  clusters.seen(lease("c1", "it never says so"), false);
  assert.deepEqual(told, ["c1 stale: lease-silent", "c1 alive: renewing"]);
});

test("a live cluster stays alive without the mark, and a pause restarts the recovery", () => {
  const { clock, clusters, told } = watch();
  for (const second of [0, 9, 18, 27]) {
    clusters.seen(lease("c1", `${second}`), false);
    clock.advance(9000);
  }
  assert.deepEqual(told, []);
  for (const second of [0, 11, 22, 33]) {
    clock.advance(11_000);
    clusters.seen(lease("c1", `now and then ${second}`), false);
  }
  assert.deepEqual(told, ["c1 stale: lease-silent"]);
});

test("the clock of the other cluster is not used", () => {
  const { clock, clusters, told } = watch();
  for (let hour = 23; hour > 0; hour--) {
    clusters.seen(lease("c1", `2020-01-01T${hour}:00:00Z`));
    clock.advance(4000);
  }
  assert.deepEqual(told, []);
});

test("a cluster without a Lease has the default duration", () => {
  const { clock, clusters, told } = watch();
  clusters.expect("c1");
  clock.advance(LEASE_SECONDS * 1000 - 1);
  assert.deepEqual(told, []);
  clock.advance(1001);
  assert.deepEqual(told, ["c1 stale: never-renewed"]);
});

test("a cluster that was stale before a restart of the controller stays stale until it renews", () => {
  const { clock, clusters, told } = watch();
  clusters.expect("c1", "stale");
  clusters.seen(lease("c1", "left behind"));
  clusters.expect("c1");
  clock.advance(60_000);
  assert.equal(clusters.status("c1")?.state, "stale");
  clusters.seen(lease("c1", "new"));
  assert.deepEqual(told, ["c1 alive: renewing"]);
});

test("a Lease of another uid is a renewal by another holder", () => {
  const { clusters, told } = watch();
  clusters.seen(lease("c1", "1"));
  clusters.seen(lease("c1", "1", { uid: "rebuilt" }));
  assert.deepEqual(told, ["c1: rebuilt after uid-c1"]);
  assert.deepEqual(clusters.status("c1"), { state: "alive", reason: "renewing", uid: "rebuilt" });
});

test("a removed cluster has no status, and starts over when it is added again", () => {
  const { clock, clusters, told } = watch();
  clusters.seen(lease("c1", "1"));
  clusters.seen(lease("c2", "1"));
  clusters.forget("c1");
  assert.equal(clusters.status("c2")?.state, "alive");
  assert.equal(clusters.status("c1"), undefined);
  clock.advance(60_000);
  assert.deepEqual(told, ["c2 stale: never-renewed"]);
  clusters.seen(lease("c1", "1", { uid: "other" }));
  assert.equal(clusters.status("c1")?.reason, "awaited");
  assert.equal(told.length, 1);
});
