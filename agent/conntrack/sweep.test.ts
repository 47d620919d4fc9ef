import assert from "node:assert/strict";
import { test } from "node:test";
import { entry, FakeTable, RANGE } from "../../test/support/fake-conntrack.ts";
import { Judge } from "./judge.ts";
import { sweep } from "./sweep.ts";
import { Targets } from "./targets.ts";

const wrong = (count: number) =>
  Array.from({ length: count }, (_, i) => entry({ at: "10.1.0.11:5353", clientPort: 1024 + i }));

/** Of a node that has no import. */
function judge(): Judge {
  const targets = new Targets(RANGE);
  targets.accept(true);
  return new Judge(targets);
}

test("what one walk cannot remember is left to the next", async () => {
  const table = new FakeTable();
  const right = entry({ to: "10.96.0.1:53", at: "10.1.0.11:5353" });
  table.entries = [...wrong(25), right];
  const deleted = await sweep(table, { family: "IPv4" }, judge(), { most: 10 });
  assert.deepEqual(deleted, [{ protocol: "UDP", reason: "vip-gone", entries: 25 }]);
  assert.deepEqual(table.entries, [right]);
  assert.equal(table.lists.length, 3);
});

test("a table that deletes nothing is not walked through for ever", async () => {
  const table = new FakeTable();
  table.entries = wrong(25);
  table.delete = async () => 0;
  await sweep(table, { family: "IPv4" }, judge(), { most: 10 });
  assert.equal(table.lists.length, 1);
});
