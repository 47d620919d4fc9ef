import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { entry, FakeTable, RANGE } from "../../test/doubles/fake-conntrack.ts";
import { deleteStaleEntries } from "./delete-stale-entries.ts";
import { ProgrammedState } from "./programmed-state.ts";
import { StaleCheck } from "./stale-check.ts";

const stale = (count: number) =>
  Array.from({ length: count }, (_, i) => entry({ at: "10.1.0.11:5353", clientPort: 1024 + i }));

const FEW = { most: 10, batch: 5 };

/** For a node without imports. */
function staleCheck(): StaleCheck {
  const state = new ProgrammedState([RANGE]);
  state.accept(true);
  return new StaleCheck(state);
}

test("entries over the limit of one scan are deleted by the next", async () => {
  const table = new FakeTable();
  const foreign = entry({ to: "10.96.0.1:53", at: "10.1.0.11:5353" });
  table.entries = [...stale(25), foreign];
  const deleted = await deleteStaleEntries(table, { family: "IPv4" }, staleCheck(), undefined, FEW);
  assert.deepEqual(deleted, [{ protocol: "UDP", reason: "vip-gone", entries: 25 }]);
  assert.deepEqual(table.entries, [foreign]);
  assert.equal(table.lists.length, 3);
});

test("stale entries are deleted during the scan of a large table", async () => {
  const table = new FakeTable();
  table.entries = stale(100);
  const left: number[] = [];
  table.list = async (_filter, onEntry) => {
    for (const one of [...table.entries]) {
      onEntry(one);
      await setImmediate();
      left.push(table.entries.length);
    }
  };
  await deleteStaleEntries(table, { family: "IPv4" }, staleCheck(), undefined, FEW);
  assert.ok(Number(left.at(-1)) < 10, left.join());
});

test("a deletion that fails ends the cleanup with its error", async () => {
  const table = new FakeTable();
  table.entries = stale(25);
  const error = new Error("no right");
  table.delete = () => Promise.reject(error);
  const cleanup = deleteStaleEntries(table, { family: "IPv4" }, staleCheck(), undefined, FEW);
  await assert.rejects(cleanup, error);
});

test("another program that deletes the same entries does not end the cleanup", async () => {
  const table = new FakeTable();
  table.entries = stale(25);
  const remove = table.delete.bind(table);
  table.delete = async (entries) => {
    const deleted = await remove(entries);
    return table.lists.length === 1 ? 0 : deleted;
  };
  await deleteStaleEntries(table, { family: "IPv4" }, staleCheck(), undefined, FEW);
  assert.deepEqual(table.entries, []);
});

test("a table that deletes nothing is scanned three times", async () => {
  const table = new FakeTable();
  table.entries = stale(25);
  table.delete = async () => 0;
  await deleteStaleEntries(table, { family: "IPv4" }, staleCheck(), undefined, FEW);
  assert.equal(table.lists.length, 3);
});
