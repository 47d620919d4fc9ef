import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import type { Shift } from "../../api/shift.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { EndpointCondition, SliceFact } from "../model/facts.ts";
import { planImport } from "../plan/plan.ts";
import { NodeShifts, nodeShare } from "./node-shifts.ts";

const START = Date.UTC(2026, 10, 24);
const WINDOW = 600_000;
const KEY: ObjectKey = "demo/serve";

/** A node whose clock differs by `skew` milliseconds from that of the controller. */
function bench(node = "n1", skew = 0) {
  const clock = new FakeClock();
  const moved: ObjectKey[] = [];
  const today = () => START + clock.now() + skew;
  const shifts = new NodeShifts({ node, clock, today, moved: (key) => moved.push(key) });
  return { clock, moved, shifts, due: nodeShare(node) * WINDOW };
}

/** A slice of c1, the cluster of the node, after it has left or returned. */
function slice(direction: Shift["direction"], from = START): SliceFact {
  const condition: EndpointCondition = direction === "draining" ? "serving" : "ready";
  const endpoints = [
    { address: "10.1.0.1", condition },
    { address: "10.1.0.2", condition: "terminating" as const },
  ];
  return sliceFact({ cluster: "c1", endpoints, shift: { direction, from, length: WINDOW } });
}

const OTHER = sliceFact({
  key: "demo/other",
  cluster: "c2",
  region: "eu-west",
  endpoints: ["10.2.0.1"],
});

function planned({ shifts }: ReturnType<typeof bench>, ...slices: readonly SliceFact[]) {
  const fact = importFact({ key: KEY });
  const view = shifts.view({ key: KEY, fact, slices: [...slices, OTHER], heldBy: new Map() });
  const plan = planImport(view, nodeFact());
  return {
    used: plan.services[0]?.endpoints.map(({ address }) => address),
    reasons: plan.excluded.map(({ address, reason }) => `${address} ${reason}`),
    remarks: (plan.remarks ?? []).map(({ reason }) => reason),
  };
}

test("a node leaves a drained cluster at its share of the window", () => {
  const node = bench();
  const before = {
    used: ["10.1.0.1"],
    reasons: ["10.1.0.2 terminating", "10.2.0.1 farther-tier"],
    remarks: ["draining"],
  };
  assert.deepEqual(planned(node, slice("draining")), before);
  node.clock.advance(node.due - 1);
  assert.deepEqual([planned(node, slice("draining")), node.moved], [before, []]);
  node.clock.advance(1);
  assert.deepEqual(node.moved, [KEY]);
  assert.deepEqual(planned(node, slice("draining")), {
    used: ["10.2.0.1"],
    reasons: ["10.1.0.1 serving", "10.1.0.2 terminating"],
    remarks: [],
  });
});

test("a node returns to a cluster at its share of the window, and until then uses it as a last resort", () => {
  const node = bench();
  assert.deepEqual(planned(node, slice("returning")), {
    used: ["10.2.0.1"],
    reasons: ["10.1.0.1 returning", "10.1.0.2 terminating"],
    remarks: [],
  });
  const alone = { ...slice("returning"), key: "demo/alone" } as const;
  const fact = importFact({ key: KEY });
  const view = node.shifts.view({ key: KEY, fact, slices: [alone], heldBy: new Map() });
  const [service] = planImport(view, nodeFact()).services;
  assert.deepEqual(
    service?.endpoints.map(({ address }) => address),
    ["10.1.0.1", "10.1.0.2"],
  );
  node.clock.advance(node.due);
  assert.deepEqual(planned(node, slice("returning")).used, ["10.1.0.1"]);
});

test("a hundred nodes return one after the other, and all are back at the end of the window", () => {
  const nodes = Array.from({ length: 100 }, (_, i) => bench(`node-${i}`));
  const back = () =>
    nodes.filter((node) => planned(node, slice("returning")).used?.[0] === "10.1.0.1").length;
  const counts: number[] = [];
  for (let tenth = 0; tenth <= 10; tenth++) {
    counts.push(back());
    for (const { clock } of nodes) clock.advance(WINDOW / 10);
  }
  assert.equal(counts[0], 0);
  assert.equal(counts.at(-1), 100);
  for (const [i, count] of counts.entries()) {
    assert.ok(Math.abs(count - i * 10) <= 15, `after ${i} tenths: ${counts.join()}`);
  }
});

test("whatever the clocks say, and whenever the agent restarts, a node follows within one window, once", () =>
  forAll(
    [
      fc.integer({ min: -400 * 86_400_000, max: 400 * 86_400_000 }),
      fc.integer({ min: 0, max: 2 * WINDOW }),
      fc.constantFrom("draining" as const, "returning" as const),
    ],
    (skew, restart, direction) => {
      const node = bench("n1", skew);
      node.clock.advance(restart);
      const wanted = direction === "draining" ? "10.2.0.1" : "10.1.0.1";
      const used: boolean[] = [];
      for (let at = 0; at <= WINDOW; at += WINDOW / 20) {
        used.push(planned(node, slice(direction)).used?.[0] === wanted);
        node.clock.advance(WINDOW / 20);
      }
      assert.equal(used.at(-1), true);
      assert.deepEqual(
        used,
        used.toSorted((a, b) => Number(a) - Number(b)),
        "it does not go back",
      );
      assert.ok(node.moved.length <= 1);
    },
  ));

test("a node whose clock is right waits no second time after a restart", () => {
  const node = bench();
  node.clock.advance(node.due);
  assert.deepEqual(planned(node, slice("draining")).used, ["10.2.0.1"]);
  assert.equal(node.clock.next, undefined);
});

test("a shift is forgotten with the last slice that has it", () => {
  const node = bench();
  const other: ObjectKey = "demo/other";
  const view = (key: ObjectKey, ...slices: readonly SliceFact[]) =>
    node.shifts.view({ key, slices, heldBy: new Map() });
  view(KEY, slice("draining"));
  view(other, slice("draining"));
  view(KEY, slice("draining", START + 1));
  node.shifts.gone(KEY);
  node.clock.advance(WINDOW);
  assert.deepEqual(node.moved, [other]);
  view(other, slice("draining", START + WINDOW));
  node.shifts.gone(other);
  assert.equal(node.clock.next, undefined);
});

test("a node does not wait for more than a thousand shifts of a namespace, and forgets those that are over", () => {
  const node = bench();
  const waits = (i: number) => {
    const fact = importFact({ key: `demo/s${i}` });
    const slices = [slice("draining", START + i)];
    const [marked] = node.shifts.view({ key: fact.key, fact, slices, heldBy: new Map() }).slices;
    return marked?.waits === true;
  };
  for (let i = 0; i < 1000; i++) assert.ok(waits(i));
  assert.ok(!waits(1000));
  const slices = [{ ...slice("draining"), key: "shop/web" } as const];
  const [other] = node.shifts.view({ key: "shop/web", slices, heldBy: new Map() }).slices;
  assert.equal(other?.waits, true, "in another namespace");
  node.clock.advance(WINDOW);
  assert.ok(waits(WINDOW));
});

test("after a stop there is no timer", () => {
  const node = bench();
  planned(node, slice("draining"));
  assert.ok(node.clock.next !== undefined);
  node.shifts.stop();
  assert.equal(node.clock.next, undefined);
});
