import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyChance } from "../../test/generators/chance.ts";
import { forAll, forMany } from "../../test/generators/for-all.ts";
import { type Made, step } from "../../test/generators/steps.ts";
import { FINE, LeaseWorld, type Weather } from "../../test/stages/lease-world.ts";
import { LEASE_MS, RENEW_MS } from "./leader-elector.ts";
import { claimed, leaseTerms, microTime } from "./lease.ts";

/** A world in which chance always says the same, and so many replicas: the first one leads. */
async function world(replicas: number): Promise<LeaseWorld> {
  const it = new LeaseWorld(() => 0.5);
  for (let i = 0; i < replicas; i++) {
    it.join();
    await it.pass(50);
  }
  assert.equal(it.leaders[0], it.replicas[0]);
  return it;
}

function replica(it: LeaseWorld, index: number) {
  return it.replicas[index] ?? assert.fail(`no replica ${index}`);
}

test("the first replica leads, the others are on standby; the leader writes every two seconds, and reads nothing", async () => {
  const it = await world(3);
  await it.pass(10_000);
  const states = it.replicas.map(({ states }) => states);
  assert.deepEqual(states, [["leader"], ["standby"], ["standby"]]);
  assert.deepEqual(replica(it, 1).elector.state, { reason: "standby", holder: "replica-0" });
  await using alone = await world(1);
  const before = alone.server.methods.length;
  await alone.pass(23_000);
  assert.deepEqual(alone.server.methods.slice(before), Array(10).fill("PUT"));
});

test("when the leader crashes or is suspended, another leads once the Lease has expired, which it finds when it continues", async () => {
  await using it = await world(2);
  const leader = replica(it, 0);
  leader.pause();
  await it.pass(14_000);
  assert.deepEqual(it.leaders, []);
  await it.pass(4000);
  assert.deepEqual(it.leaders, [replica(it, 1)]);
  assert.equal(leaseTerms(it.server.lease).transitions, 2);
  leader.resume();
  assert.equal(leader.elector.isLeader(), false);
  await it.pass(5000);
  assert.deepEqual(it.leaders, [replica(it, 1)]);
  assert.deepEqual(leader.states, ["leader", "not-renewed", "standby"]);
});

test("after a clean stop of the leader, another replica leads with its next read", async () => {
  await using it = await world(2);
  await it.pass(1000);
  const leader = replica(it, 0);
  const stopped = leader.stop();
  assert.equal(leader.elector.isLeader(), false);
  await it.pass(20);
  await stopped;
  assert.equal(leaseTerms(it.server.lease).holder, "");
  await it.pass(2300);
  assert.deepEqual(it.leaders, [replica(it, 1)]);
});

test("a standby replica writes nothing when it stops", async () => {
  await using it = await world(2);
  await it.pass(1000);
  it.server.asked.splice(0);
  void replica(it, 1).stop();
  await it.pass(100);
  assert.deepEqual(it.server.asked, []);
});

test("a renewal counts from before it was sent, however late the response", async () => {
  await using it = await world(1);
  // Half of it each way: an answer after 3 seconds.
  it.weather = { ...FINE, delay: 3000 };
  const { asked } = it.server;
  const { elector } = replica(it, 0);
  const before = asked.length;
  while (asked.length === before) await it.pass(100);
  await it.pass(1550);
  // That was 3 to 3.2 seconds ago.
  replica(it, 0).cut = true;
  assert.equal(elector.isLeader(11_400), true);
  assert.equal(elector.isLeader(11_800), false);
  await it.pass(11_900);
  assert.equal(elector.isLeader(), false);
});

test("a leader that was suspended and continues does not lead before it has renewed", async () => {
  await using it = await world(1);
  const leader = replica(it, 0);
  leader.pause();
  await it.pass(60_000);
  leader.resume();
  assert.equal(leader.elector.isLeader(), false);
  await it.pass(10);
  assert.equal(leader.elector.isLeader(10_000), true);
  assert.deepEqual(leader.states, ["leader", "not-renewed", "leader"]);
});

test("leader and standby report each successful read, and soon a failed one", async () => {
  await using it = await world(2);
  await it.pass(10_000);
  for (const one of it.replicas) {
    assert.ok(one.looks >= 5);
    one.cut = true;
  }
  const looks = it.replicas.map((one) => one.looks);
  await it.pass(RENEW_MS * 1.2 + LEASE_MS / 4);
  for (const one of it.replicas) assert.deepEqual(one.faults, ["stalled"]);
  const now = it.replicas.map((one) => one.looks);
  assert.deepEqual(now, looks);
});

test("a leader without confirmed renewals leads no longer than the Lease, even if they succeeded", async () => {
  await using it = await world(2);
  it.weather = { ...FINE, error: 1 };
  await it.pass(14_000);
  assert.deepEqual(it.leaders, [replica(it, 0)]);
  assert.equal(replica(it, 0).elector.isLeader(5000), false);
  await it.pass(20_000);
  assert.deepEqual(it.leaders, []);
  assert.ok(replica(it, 0).faults.includes("server-error"));
  it.weather = FINE;
  await it.pass(10_000);
  assert.deepEqual(it.leaders, [replica(it, 0)]);
});

test("a replica stops leading as soon as it sees that the Lease has another holder, or is deleted", async () => {
  for (const take of [
    (it: LeaseWorld) => it.server.write({ holderIdentity: "a person", leaseDurationSeconds: 15 }),
    (it: LeaseWorld) => it.server.delete(),
  ]) {
    await using it = await world(1);
    const { elector, states } = replica(it, 0);
    await it.pass(1000);
    take(it);
    await it.pass(4500);
    assert.ok(states.includes("standby"));
    await it.pass(20_000);
    assert.equal(elector.isLeader(), true);
    assert.deepEqual(states, ["leader", "standby", "leader"]);
  }
});

test("a Lease belongs to its holder for the duration in its own spec", async () => {
  await using it = new LeaseWorld(() => 0.5);
  it.server.write({ holderIdentity: "another", leaseDurationSeconds: 40 });
  it.join();
  await it.pass(39_000);
  assert.deepEqual(it.leaders, []);
  await it.pass(4000);
  assert.equal(it.leaders.length, 1);
});

test("an API server that does not respond does not prevent a stop", async () => {
  await using it = await world(1);
  it.weather = { ...FINE, lost: 1 };
  const stopped = replica(it, 0).stop();
  await it.pass(8000);
  await stopped;
});

const NAME = { namespace: "here", name: "leader" };

test("a claim changes only its own fields of the Lease", () => {
  const before = {
    kind: "Lease",
    metadata: { ...NAME, uid: "u", resourceVersion: "7", labels: { team: "net" } },
    spec: { holderIdentity: "a", acquireTime: "then", leaseTransitions: 4, strategy: "x" },
  };
  const claim = { holder: "b", duration: 15_000, time: "now" };
  assert.deepEqual(claimed(NAME, before, claim), {
    ...before,
    spec: {
      holderIdentity: "b",
      leaseDurationSeconds: 15,
      renewTime: "now",
      acquireTime: "now",
      leaseTransitions: 5,
      strategy: "x",
    },
  });
  const renewal = claimed(NAME, before, { ...claim, holder: "a" });
  assert.deepEqual(leaseTerms(renewal), { holder: "a", duration: 15_000, transitions: 4 });
  const release = claimed(NAME, before, { ...claim, holder: "" });
  assert.deepEqual(leaseTerms(release), { holder: "", duration: 15_000, transitions: 4 });
  assert.deepEqual(claimed(NAME, undefined, claim).metadata, NAME);
});

test("a Lease with invalid or missing fields has no holder", async () => {
  const nothing = { holder: "", duration: undefined, transitions: 0 };
  const specs = [null, { holderIdentity: 7 }, { leaseDurationSeconds: -1, leaseTransitions: -1 }];
  for (const lease of [undefined, null, 7, [], {}, ...specs.map((spec) => ({ spec }))])
    assert.deepEqual(leaseTerms(lease), nothing);
  await forAll([fc.anything()], (lease) => assert.ok(leaseTerms(lease).holder.length >= 0));
});

test("two consecutive times differ, even at the same time of day", () => {
  const date = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  assert.equal(microTime(date, 0), "2026-01-02T03:04:05.678000Z");
  assert.equal(microTime(date, 1041), "2026-01-02T03:04:05.678041Z");
});

/** What may become of one replica. */
const FATES = ["pause", "resume", "cut", "mend", "stop", "crash"] as const;

const weather: fc.Arbitrary<Weather> = fc.oneof(
  fc.constant(FINE),
  fc.record({
    delay: fc.constantFrom(100, 1000, 5000, 30_000),
    lost: fc.constantFrom(0, 0.1, 0.5, 1),
    error: fc.constantFrom(0, 0.2, 0.6),
  }),
);
const anyStep = fc.oneof(
  step(6, "pass", { ms: fc.oneof(fc.nat(300), fc.nat(5000), fc.nat(40_000)) }),
  step(2, "weather", { weather }),
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom(...FATES), which: fc.nat(3) }) },
);
type Step = Made<typeof anyStep>;
const RUNS = 60;

/** Clocks that differ by as much as we say we bear. */
const rate = fc.double({ min: 0.9905, max: 1.0095, noNaN: true });

async function take(world: LeaseWorld, step: Step, rates: readonly number[]): Promise<void> {
  if (step.do === "pass") return world.pass(step.ms);
  if (step.do === "weather") {
    world.weather = step.weather;
    return;
  }
  const replica = world.replicas[step.which];
  if (replica === undefined || replica.stopped) return;
  if (step.do === "pause") replica.pause();
  if (step.do === "resume" && replica.paused) replica.resume();
  if (step.do === "cut" || step.do === "mend") replica.cut = step.do === "cut";
  if (step.do === "stop" && !replica.paused) void replica.stop();
  if (step.do === "crash") {
    // It never resumes.
    replica.pause();
    replica.stopped = true;
  }
  // Another one takes its place.
  if (replica.stopped) world.join(rates[world.replicas.length % rates.length]);
  await world.settle();
}

test("in any history, no two replicas lead at the same time; without faults, one leads", async () => {
  let led = 0;
  await forMany(
    RUNS,
    [
      fc.array(anyStep, { minLength: 5, maxLength: 40 }),
      fc.array(rate, { minLength: 3, maxLength: 3 }),
      anyChance,
    ],
    async (steps, rates, chance) => {
      const world = new LeaseWorld(chance);
      for (const one of rates) world.join(one);
      await world.pass(3000);
      for (const one of steps) await take(world, one, rates);
      led += world.replicas.filter(({ states }) => states.includes("leader")).length;
      assert.deepEqual(world.wrong, []);
      world.weather = FINE;
      for (const one of world.replicas) {
        one.cut = false;
        if (!one.stopped && one.paused) one.resume();
      }
      await world.pass(60_000);
      assert.deepEqual(world.wrong, []);
      assert.equal(world.leaders.length, 1);
      for (const one of world.replicas) if (!one.stopped) void one.stop();
      await world.pass(60_000);
      assert.deepEqual(world.leaders, []);
    },
  );
  assert.ok(led >= RUNS, `only ${led} ever led`);
});
