import assert from "node:assert/strict";
import { test } from "node:test";
import { guestRows } from "./rows.ts";
import { parseSync, type Sync, syncText } from "./sync.ts";

const IPVS: Sync = {
  ...{ backend: "ipvs", services: 1_000, endpoints: 3 },
  ...{ cold: 4_000, restart: 300, written: 0, changes: [10, 20, 30], own: [1, 2, 3] },
};
const IPTABLES: Sync = { ...IPVS, backend: "iptables", cold: 2_000, changes: [40, 80, 120] };

test("diagnostics of the guest with figures are parsed, and others are ignored", () => {
  assert.deepEqual(parseSync(syncText(IPVS)), IPVS);
  assert.equal(parseSync("Linux 6.1, up in 7 ms"), undefined);
});

test("an incomplete figure is ignored", () => {
  for (const part of [
    { backend: "nftables" },
    { cold: -1 },
    { changes: ["1"] },
    { own: 1 },
    { restart: null },
  ]) {
    assert.throws(
      () => parseSync(`sync ${JSON.stringify({ ...IPVS, ...part })}`),
      JSON.stringify(part),
    );
  }
  assert.throws(() => parseSync(syncText(IPVS).slice(0, -1)));
});

test("rows have the medians of both backends, and their ratio", () => {
  const slow = { ...IPVS, cold: 9_000, changes: [50, 60, 70] };
  const rows = guestRows([IPVS, IPTABLES, slow, IPTABLES, { ...IPVS, cold: 5_000 }, IPTABLES]);
  assert.deepEqual(
    rows.map(({ what, ours, beside, ratio }) => [what, ours, beside, ratio]),
    [
      [
        "one endpoint changes, 1,000 services of 3 endpoints: p50 / p99",
        "30.0 / 70.0 ms",
        "80.0 / 120.0 ms iptables-nft",
        0.375,
      ],
      ["  of which plan, render, compare: p50", "2.0 ms", "2.0 ms iptables-nft", 1],
      ["  cold sync: p50 of 3", "5.00 s", "2.00 s iptables-nft", 2.5],
      ["  restart with existing rules: p50 of 3", "300.0 ms", "300.0 ms iptables-nft", 1],
    ],
  );
  assert.equal(rows[3]?.target?.met, true);
});

test("a restart that writes is reported for either backend", () => {
  for (const writer of [IPVS, IPTABLES]) {
    const [, , , restart] = guestRows([IPVS, IPTABLES, { ...writer, written: 1 }]);
    assert.equal(restart?.target?.met, false);
  }
});

test("without figures of one backend there is no row", () => {
  assert.throws(() => guestRows([IPVS]), /nothing was measured/);
  assert.throws(() => guestRows([IPVS, { ...IPTABLES, services: 10 }]), /nothing was measured/);
});
