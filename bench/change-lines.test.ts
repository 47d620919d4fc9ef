import assert from "node:assert/strict";
import { test } from "node:test";
import { TITLES, type Title } from "./backends.ts";
import { changeLines } from "./change-lines.ts";
import type { Measured } from "./contest.ts";

function measured(services: number, first: number): Measured {
  const alone = [{ first, last: 0, told: 0, programmed: undefined, waited: 0 }];
  return {
    ...{ services, cold: 0, alone, series: [], storm: undefined, flips: undefined },
    ...{ resident: [0, 0], connections: { made: 0, failed: new Map() } },
  };
}

const SIZES = [measured(1, 2), measured(1_000, 3)];
const AGENTS = TITLES.map((title: Title) => ({ backend: { title }, measured: SIZES }));
const RIVALS = (["iptables-nft", "nftables"] as const).map((mode) => ({ mode, measured: SIZES }));

test("Ours and kube-proxy's are drawn, with both kinds of rules", () => {
  const lines = changeLines(AGENTS, RIVALS) ?? [];
  assert.deepEqual(
    lines.map(({ label, ours }) => [label, ours]),
    [
      ["clusterset-proxy, nftables", true],
      ["clusterset-proxy, iptables", true],
      ["kube-proxy, nftables", false],
      ["kube-proxy, iptables", false],
    ],
  );
  for (const { points } of lines)
    assert.deepEqual(points, [
      { services: 1, p50: 2, p99: 2 },
      { services: 1_000, p50: 3, p99: 3 },
    ]);
});

test("There is no picture of a part of the lines", () => {
  assert.equal(changeLines(AGENTS, RIVALS.slice(1)), undefined);
  assert.equal(changeLines(AGENTS.slice(1), RIVALS), undefined);
  assert.equal(changeLines([], []), undefined);
  const never = RIVALS.map((one) => ({ ...one, measured: [] }));
  assert.equal(changeLines(AGENTS, never), undefined);
});
