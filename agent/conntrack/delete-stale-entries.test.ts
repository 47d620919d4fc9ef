import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { entry, FakeTable, RANGE } from "../../test/doubles/fake-conntrack.ts";
import type { Entry } from "../system/conntrack/entry.ts";
import { deleteStaleEntries } from "./delete-stale-entries.ts";
import { ProgrammedState } from "./programmed-state.ts";
import { StaleCheck } from "./stale-check.ts";

/** A table with this many stale entries. */
function tableOf(count: number): FakeTable {
  const table = new FakeTable();
  const at = "10.1.0.11:5353";
  for (let i = 0; i < count; i++) table.entries.push(entry({ at, clientPort: 1024 + i }));
  return table;
}

/** On a node without imports, a few entries at a time. */
function cleanUp(table: FakeTable) {
  const state = new ProgrammedState([RANGE]);
  state.accept(true);
  const few = { most: 10, batch: 5 };
  return deleteStaleEntries(table, { family: "IPv4" }, new StaleCheck(state), undefined, few);
}

test("entries over the limit of one scan are deleted by the next", async () => {
  const table = tableOf(25);
  const foreign = entry({ to: "10.96.0.1:53", at: "10.1.0.11:5353" });
  table.entries.push(foreign);
  const deleted = await cleanUp(table);
  assert.deepEqual(deleted, [{ protocol: "UDP", reason: "vip-gone", entries: 25 }]);
  assert.deepEqual(table.entries, [foreign]);
  assert.equal(table.lists.length, 3);
});

/** Lists a table one entry at a time, as the kernel does in pieces; returns how many entries there were after each. */
function listSlowly(table: FakeTable): readonly number[] {
  const left: number[] = [];
  table.list = async (filter, onEntry) => {
    table.lists.push(filter);
    for (const one of [...table.entries]) {
      onEntry(one);
      await setImmediate();
      left.push(table.entries.length);
    }
  };
  return left;
}

test("stale entries are deleted during the scan of a large table", async () => {
  const table = tableOf(100);
  const left = listSlowly(table);
  await cleanUp(table);
  assert.ok(Number(left.at(-1)) < 10, left.join());
});

test("entries that clients use are deleted before idle ones, in whatever state they are, also of a large table", async () => {
  const at = "10.1.0.11:5353";
  const first = entry({ at, clientPort: 1, secondsLeft: 119, assured: true });
  // An entry stays longer once it was answered often.
  const last = [
    entry({ at, clientPort: 2, secondsLeft: 29, replied: false }),
    entry({ at, clientPort: 3, secondsLeft: 118, assured: true }),
    entry({ at, clientPort: 4, secondsLeft: 30 }),
  ];
  for (const count of [8, 100]) {
    const table = tableOf(0);
    const idle = Array.from({ length: count }, (_, i) =>
      entry({ at, clientPort: 1024 + i, secondsLeft: i, assured: true }),
    );
    table.entries.push(first, ...idle, ...last);
    listSlowly(table);
    const order: Entry[] = [];
    const remove = table.delete.bind(table);
    table.delete = (entries) => {
      order.push(...entries);
      return remove(entries);
    };
    await cleanUp(table);
    assert.deepEqual(table.entries, []);
    assert.deepEqual(new Set(order.slice(0, 4)), new Set([first, ...last]));
    assert.ok(table.lists.length <= 3, `${table.lists.length} scans`);
  }
});

test("a deletion that fails ends the cleanup with its error", async () => {
  const table = tableOf(25);
  const error = new Error("no right");
  table.delete = () => Promise.reject(error);
  await assert.rejects(cleanUp(table), error);
});

test("another program that deletes the same entries does not end the cleanup", async () => {
  const table = tableOf(25);
  const remove = table.delete.bind(table);
  table.delete = async (entries) => {
    const deleted = await remove(entries);
    return table.lists.length === 1 ? 0 : deleted;
  };
  await cleanUp(table);
  assert.deepEqual(table.entries, []);
});

test("a table that deletes nothing is scanned three times", async () => {
  const table = tableOf(25);
  table.delete = async () => 0;
  await cleanUp(table);
  assert.equal(table.lists.length, 3);
});
