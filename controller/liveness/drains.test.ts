import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { Drains } from "./drains.ts";

const MINUTE = 60_000;

function bench() {
  const clock = new FakeClock();
  const lines: string[] = [];
  const skew = { ms: 0 };
  const held = new Set<string>();
  const drains = new Drains({
    clock,
    today: () => new Date(clock.now() + skew.ms),
    mayChange: (_cluster, { where }) => !held.has(where),
    changed: (cluster, drain) => {
      lines.push(
        `${cluster} ${drain === undefined ? "in rotation" : `${drain.by} ${drain.until}`}`,
      );
    },
  });
  const taken = () => lines.splice(0);
  return { clock, drains, held, skew, taken };
}

test("a drain begins and ends by itself, within a second of its times", () => {
  const { clock, drains, taken } = bench();
  drains.set("c1", "Secret a", { from: MINUTE, until: 3 * MINUTE, by: "ann" });
  assert.deepEqual(taken(), []);
  assert.equal(drains.of("c1")[0]?.phase, "planned");
  clock.advance(MINUTE - 1);
  assert.deepEqual(taken(), []);
  clock.advance(1001);
  assert.deepEqual(taken(), [`c1 ann ${3 * MINUTE}`]);
  clock.advance(2 * MINUTE - 2001);
  assert.deepEqual(taken(), []);
  clock.advance(2000);
  assert.deepEqual(taken(), ["c1 in rotation"]);
  assert.equal(drains.of("c1")[0]?.phase, "ended");
  assert.equal(drains.inForce("c1"), undefined);
});

test("of several drains of a cluster the one in force that ends last counts, and all are listed", () => {
  const { clock, drains, taken } = bench();
  drains.set("c1", "Secret a", { from: 0, until: 5 * MINUTE, by: "ann" });
  drains.set("c1", "Lease of c1", { from: 0, until: 2 * MINUTE, by: "bob" });
  drains.set("c1", "Secret b", { from: 6 * MINUTE, until: 9 * MINUTE, by: "cyd" });
  assert.deepEqual(taken(), [`c1 ann ${5 * MINUTE}`]);
  assert.deepEqual(
    drains.of("c1").map(({ where, phase }) => `${where} ${phase}`),
    ["Secret b planned", "Secret a in-force", "Lease of c1 in-force"],
  );
  drains.set("c1", "Secret a", undefined);
  assert.deepEqual(taken(), [`c1 bob ${2 * MINUTE}`]);
  clock.advance(7 * MINUTE);
  assert.deepEqual(taken(), ["c1 in rotation", `c1 cyd ${9 * MINUTE}`]);
  drains.set("c1", "Secret b", undefined);
  assert.deepEqual(taken(), ["c1 in rotation"]);
});

test("a clock that is set changes which drains are in force", () => {
  const { clock, drains, skew, taken } = bench();
  drains.set("c1", "Secret a", { from: 0, until: MINUTE, by: "ann" });
  skew.ms = 2 * MINUTE;
  clock.advance(1000);
  assert.deepEqual(taken(), [`c1 ann ${MINUTE}`, "c1 in rotation"]);
});

test("without a drain there is no timer, nor after a stop", () => {
  const { clock, drains } = bench();
  assert.equal(clock.next, undefined);
  drains.set("c1", "Secret a", { from: 0, until: MINUTE });
  assert.ok(clock.next !== undefined);
  drains.stop();
  assert.equal(clock.next, undefined);
});

test("a change that may not be yet waits, also for a drain that is gone; those of other objects do not", () => {
  const { clock, drains, held, taken } = bench();
  held.add("Lease");
  drains.set("c1", "Lease", { from: 0, until: 9 * MINUTE, by: "peer" });
  clock.advance(MINUTE);
  assert.deepEqual(taken(), []);
  held.clear();
  clock.advance(1000);
  assert.deepEqual(taken(), [`c1 peer ${9 * MINUTE}`]);
  held.add("Lease");
  drains.set("c1", "Lease", undefined);
  clock.advance(MINUTE);
  assert.deepEqual(taken(), []);
  drains.set("c1", "Secret", { from: 0, until: 5 * MINUTE, by: "ann" });
  assert.deepEqual(taken(), [`c1 ann ${5 * MINUTE}`]);
  drains.set("c1", "Secret", undefined);
  assert.deepEqual(taken(), ["c1 in rotation"]);
  drains.set("c1", "Lease", { from: 0, until: 9 * MINUTE, by: "peer" });
  held.clear();
  clock.advance(1000);
  drains.set("c1", "Lease", undefined);
  assert.deepEqual(taken(), [`c1 peer ${9 * MINUTE}`, "c1 in rotation"]);
});

test("another object that states the same drain changes nothing", () => {
  const { drains, taken } = bench();
  const drain = { from: 0, until: MINUTE, by: "ann" };
  drains.set("c1", "ClusterProperty", drain);
  assert.deepEqual(taken(), [`c1 ann ${MINUTE}`]);
  drains.set("c1", "Lease", drain);
  drains.set("c1", "ClusterProperty", undefined);
  assert.deepEqual(taken(), []);
  assert.equal(drains.inForce("c1")?.where, "Lease");
});
