import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LEASE_CHOICE, leaseTimes } from "./lease-times.ts";

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
