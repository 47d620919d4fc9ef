import assert from "node:assert/strict";
import { test } from "node:test";
import { missedIn } from "../table.ts";
import type { CrossedChanges } from "./changes.ts";
import type { Measured } from "./measure.ts";
import { controllerRows } from "./rows.ts";

const CHANGE = { first: 40, last: 30, published: 8, imported: 20, own: 6, native: 1 };
const CHANGES: CrossedChanges = {
  changes: [CHANGE, { ...CHANGE, imported: 24 }],
  writes: new Map([
    ["c1", new Map([["patch endpointslices", 4]])],
    ["c2", new Map([["patch endpointslices", 2]])],
    ["c3", new Map()],
  ]),
  connections: { made: 900, failed: new Map() },
};
const TAKEN = { resident: 75, peak: 90, heap: 12, held: 3, cpuSeconds: 1 };
const MEASURED: Measured = {
  ...{ exports: 1_000, one: CHANGES, all: CHANGES, bareChanges: [10, 10], kubeSlices: [9] },
  ...{ inStep: 20_000, fresh: 10_000, bareImport: 5_000, ready: 900, rewritten: new Map() },
  ...{ idle: TAKEN, loaded: TAKEN, restarted: TAKEN },
  rest: { seconds: 60, calls: new Map([["patch leases", 12]]), share: 0.002 },
};

function rowOf(measured: Measured, what: RegExp) {
  const row = controllerRows(measured).find((one) => what.test(one.what));
  if (row === undefined) throw new Error(`no row ${what}`);
  return row;
}

function missed(measured: Measured): string[] {
  return missedIn([{ title: "controller", rows: controllerRows(measured) }]);
}

test("a change is reported from its acknowledgement, in parts, and beside a bare copy", () => {
  const row = rowOf(MEASURED, /imported slice received in c2, 1 export/);
  assert.deepEqual([row.ours, row.ratio], ["20.0 / 24.0 ms", 2]);
  assert.equal(rowOf(MEASURED, /of which to c1's registry/).ours, "8.0 / 12.0 ms");
  const own = rowOf(MEASURED, /received in c1 itself/);
  assert.deepEqual([own.ours, own.beside?.slice(0, 12)], ["6.0 / 6.0 ms", "1.0 / 1.0 ms"]);
  assert.equal(rowOf(MEASURED, /writes per change to c1's/).ours, "2 patch endpointslices");
  assert.equal(rowOf(MEASURED, /writes per change in total/).ours, "3");
  assert.deepEqual(missed(MEASURED), []);
});

test("missed targets are reported: delay, memory, requests at rest, and writes at a start", () => {
  const late = { ...CHANGES, changes: [{ ...CHANGE, imported: 300 }] };
  const greedy = { ...TAKEN, resident: 161 };
  const calls = new Map([["get serviceimports", 1]]);
  const wrong = { ...MEASURED, all: late, loaded: greedy, rewritten: calls };
  const rest = { ...MEASURED.rest, calls };
  const said = missed({ ...wrong, rest, fresh: 16_000 }).join("\n");
  for (const what of [
    /300\.0/,
    /161 \/ 12 MB/,
    /requests of all controllers to c2/,
    /writes nothing/,
    /third cluster/,
  ]) {
    assert.match(said, what);
  }
});
