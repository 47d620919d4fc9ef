import assert from "node:assert/strict";
import { test } from "node:test";
import type { KernelRun, Timed } from "./kernel-process.ts";
import { rowsOf, unfinished } from "./kernel-rows.ts";

const SIZE = { services: 10_000, endpoints: 10 };
const NFTABLES = { title: "nftables", once: "one nft -f" } as const;
const CHANGE: Timed = { read: 0, ours: 0.3, kernel: 0.45, total: 0.75, writes: 10, bare: 15 };
const RUN: KernelRun = {
  cold: { read: 10, ours: 190, kernel: 350, total: 550, writes: 110_000, bare: 1_100 },
  restart: { read: 200, ours: 250, kernel: 0, total: 450, writes: 0, bare: null },
  changes: [CHANGE],
  peakMB: 140,
};

function missed(title: "nftables" | "iptables-nft", run: KernelRun): string[] {
  const rows = rowsOf({ ...NFTABLES, title }, SIZE, [run]);
  return rows.flatMap(({ what, target }) => (target?.met === false ? [what.trim()] : []));
}

test("Rows show both times and their ratio", () => {
  const [cold, parts, change] = rowsOf(NFTABLES, SIZE, [RUN, { ...RUN, changes: [] }]);
  assert.deepEqual(
    [cold?.what, cold?.ours, cold?.beside, cold?.ratio],
    ["cold sync, 10,000 services: p50 of 2", "550.0 ms", "1.10 s one nft -f", 0.5],
  );
  assert.equal(parts?.ours, "10.0 / 190.0 / 350.0 ms");
  assert.deepEqual(
    [change?.ours, change?.beside, change?.ratio],
    ["750 / 750 / 750 us", "15.0 / 15.0 / 15.0 ms one nft -f", 0.05],
  );
});

test("Each target of nftables with 10,000 services is missed by itself", () => {
  assert.deepEqual(missed("nftables", RUN), []);
  const slow = { ...CHANGE, total: 1.1 };
  for (const [what, run] of [
    ["cold sync, 10,000 services: p50 of 1", { cold: { ...RUN.cold, total: 601 } }],
    ["one slice changes, 10,000 services: p50 / p99 / max", { changes: [slow] }],
    ["rules or elements written", { changes: [{ ...CHANGE, writes: 13 }] }],
    [
      "restart with existing rules: read, compare",
      { restart: { ...CHANGE, total: 501, writes: 0 } },
    ],
  ] as const) {
    assert.deepEqual(missed("nftables", { ...RUN, ...run }), [what]);
  }
});

test("A restart that writes is reported, with every backend", () => {
  for (const title of ["nftables", "iptables-nft"] as const) {
    const run = { ...RUN, restart: { ...CHANGE, writes: 1 } };
    assert.deepEqual(missed(title, run), ["restart with existing rules: read, compare"]);
  }
});

test("A size that was not finished has a row with the error code", () => {
  const error = "Error: c1/n1: code 1\n  code: 'CSP_EXEC_TIMEOUT'";
  const row = unfinished({ services: 10_000, endpoints: 100 }, error);
  assert.equal(row.what, "cold sync, restart and changes, 10,000 services x 100");
  assert.deepEqual([row.ours, row.target?.met], ["CSP_EXEC_TIMEOUT", false]);
});

test("Without the simplest tool there is no ratio", () => {
  const alone = { ...RUN.cold, bare: null };
  const run = { ...RUN, cold: alone, changes: [{ ...CHANGE, bare: null }] };
  const size = { services: 10_000, endpoints: 100 };
  const [cold, , change] = rowsOf(NFTABLES, size, [run]);
  assert.deepEqual([cold?.beside, cold?.ratio, cold?.target], [undefined, undefined, undefined]);
  assert.deepEqual([change?.beside, change?.ratio], [undefined, undefined]);
  assert.match(change?.what ?? "", /10,000 services x 100: /);
});
