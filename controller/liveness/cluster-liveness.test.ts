import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { ClusterFact } from "../model/facts.ts";
import { ClusterLiveness, LEASE_SECONDS } from "./cluster-liveness.ts";
import { DURATION_SECONDS, LeaseExpiry } from "./lease-expiry.ts";
import { LEASE_CHOICE, leaseTimes } from "./lease-times.ts";

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

function setup() {
  const clock = new FakeClock();
  const reported: string[] = [];
  const silent: string[] = [];
  const leases = new LeaseExpiry(
    clock,
    (name, { state, reason }) => reported.push(`${name} ${state}: ${reason}`),
    (name) => silent.push(name),
  );
  return { clock, leases, reported, silent };
}

test("an unchanged Lease expires after the same time as one that was never seen", () => {
  const { clock, leases, reported } = setup();
  leases.seen("a", "once", 10);
  leases.expect("b", 10);
  clock.advance(9000);
  assert.deepEqual(reported, []);
  clock.advance(2000);
  assert.deepEqual(reported, ["a stale: never-renewed", "b stale: never-renewed"]);
});

test("a Lease is silent after its duration, also one that had expired before, and with a renewal no longer", () => {
  const { clock, leases, silent } = setup();
  leases.expect("a", 10, "stale");
  leases.expect("b", 10);
  clock.advance(9000);
  assert.deepEqual([leases.isSilent("a"), leases.isSilent("b"), silent], [false, false, []]);
  clock.advance(30_000);
  assert.deepEqual([leases.isSilent("a"), leases.isSilent("b"), silent], [true, true, ["a", "b"]]);
  leases.seen("a", "new", 10);
  assert.deepEqual([leases.isSilent("a"), leases.isSilent("b")], [false, true]);
});

test("after a pause of this process every Lease has its full duration again, and an expired one stays so", () => {
  const { clock, leases, reported } = setup();
  for (let i = 0; i < 9; i++) {
    leases.seen("a", `renewal ${i}`, 10);
    clock.advance(1000);
  }
  clock.standStill(3_600_000);
  clock.advance(9000);
  assert.deepEqual(reported, []);
  clock.advance(2000);
  assert.deepEqual(reported, ["a stale: lease-silent"]);
  clock.standStill(3_600_000);
  assert.deepEqual(reported, ["a stale: lease-silent"]);
});

test("durations are bounded", () => {
  for (const [asked, is] of [
    [0, DURATION_SECONDS.least],
    [Number.MAX_VALUE, DURATION_SECONDS.most],
    [60, 60],
  ] as const) {
    const { clock, leases, reported } = setup();
    leases.expect("a", asked);
    clock.advance(is * 1000 - 1);
    assert.deepEqual(reported, []);
    clock.advance(1001);
    assert.equal(reported.length, 1, String(asked));
  }
});

test("a forgotten Lease is not reported, and no timer remains", () => {
  const { clock, leases, reported } = setup();
  leases.expect("a", 10);
  leases.forget("a");
  assert.equal(clock.pending, 0);
  clock.advance(60_000);
  assert.deepEqual(reported, []);
  leases.expect("b", 10);
  clock.advance(11_000);
  assert.deepEqual(reported, ["b stale: never-renewed"]);
  leases.stop();
  assert.equal(clock.pending, 0);
});

test("in any order of events a Lease expires on the first check after its duration, never before", async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 15_000 }) }),
    fc.record({ do: fc.constant("seen" as const), text: fc.constantFrom("x", "y", "z") }),
    fc.record({ do: fc.constant("still" as const), ms: fc.integer({ min: 3100, max: 60_000 }) }),
  );
  await forAll([fc.array(step, { maxLength: 60 })], (steps) => {
    const { clock, leases, reported } = setup();
    leases.expect("a", 10);
    let changed = clock.now();
    let text: string | undefined;
    for (const one of steps) {
      if (one.do === "pass") clock.advance(one.ms);
      if (one.do === "still") {
        clock.standStill(one.ms);
        changed = clock.now();
      }
      if (one.do === "seen") {
        leases.seen("a", one.text, 10);
        if (one.text !== text) changed = clock.now();
        text = one.text;
      }
      const unchanged = clock.now() - changed;
      if (unchanged >= 11_000) assert.equal(leases.status("a")?.state, "stale");
      if (reported.at(-1)?.includes("stale") !== true)
        assert.equal(leases.status("a")?.state, "alive");
    }
    const words = reported.map((line) => line.split(/[: ]+/)[1]);
    assert.ok(words.every((word, i) => word === (i % 2 === 0 ? "stale" : "alive")));
  });
});

const CHOICES = Array.from(
  { length: LEASE_CHOICE.most - LEASE_CHOICE.least + 1 },
  (_, i) => LEASE_CHOICE.least + i,
);
/** Jitter and clock drift of leader-elector.ts. */
const [SPREAD, SURE] = [1.2, 0.98];

describe("for every accepted Lease duration", () => {
  test("after a kill of the leader at the worst time, its successor renews before the cluster is stale", () => {
    for (const seconds of CHOICES) {
      const { election, electEvery, renewEvery } = leaseTimes(seconds);
      const left = seconds * 1000 - renewEvery - (election + 2 * SPREAD * electEvery);
      // Five requests: two reads, the renewal of the election, that of the cluster, and the event of a reader.
      assert.ok(left / 5 >= seconds * 17, `${seconds}s: ${left} ms are left`);
    }
  });

  test("a leader can write at any time, even right before a renewal", () => {
    for (const seconds of CHOICES) {
      const { election, electEvery, longestWrite } = leaseTimes(seconds);
      const left = SURE * election - SPREAD * electEvery - longestWrite;
      assert.ok(left >= Math.min(seconds, 30) * 50, `${seconds}s: ${left} ms are left`);
    }
  });

  test("after two timeouts of writes of the cluster's Lease, the third write is in time", () => {
    for (const seconds of CHOICES) {
      const { longestWrite, renewEvery } = leaseTimes(seconds);
      const third = renewEvery + 2 * (longestWrite + renewEvery / 4);
      assert.ok(third < seconds * 950, `${seconds}s: it begins after ${third} ms`);
    }
  });

  test("a write has at least 1.5 seconds, and the election Lease has whole seconds", () => {
    for (const seconds of CHOICES) {
      const { election, longestWrite } = leaseTimes(seconds);
      assert.ok(longestWrite >= 1500, `${seconds}s`);
      assert.equal(election % 1000, 0);
    }
  });
});

test("the default times are those of Kubernetes' components, and a longer duration extends only the renewals", () => {
  const usual = { election: 15_000, electEvery: 2000, longestWrite: 8000 };
  assert.deepEqual(leaseTimes(30), { ...usual, renewEvery: 7500 });
  assert.deepEqual(leaseTimes(300), { ...usual, renewEvery: 75_000 });
  assert.deepEqual(leaseTimes(6), {
    renewEvery: 1500,
    election: 3000,
    electEvery: 400,
    longestWrite: 1600,
  });
});
