import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { remarkLine } from "../../common/checks.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { logLines } from "../../test/doubles/log-lines.ts";
import { backendConfig } from "../../test/generators/facts.ts";
import type { BackendKind, ReadyBackend, Unsupported } from "../backends/backend-kind.ts";
import { KINDS } from "../backends/kinds.ts";
import { backendRemark, chooseBackend } from "./choose-backend.ts";

const CONFIG = backendConfig("241.0.0.0/8");
const READY = KINDS.iptables.assume(CONFIG);
const UNUSED: Unsupported = {
  reason: "ipvs-unusable",
  lacks: ["netlink: the kernel reports ENOMEM."],
  usedBefore: false,
};
const USED = { ...UNUSED, usedBefore: true };

/** The choice on a node where `first` answers these, the last one ever after; and the seconds at which it was asked. */
async function choice(answers: readonly (ReadyBackend | Unsupported)[], stopAt?: number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const times: number[] = [];
  const { log, lines } = logLines();
  const kind = (prepare: () => ReadyBackend | Unsupported): BackendKind => ({
    ...KINDS.iptables,
    prepare: async () => prepare(),
  });
  const first = kind(() => {
    times.push(clock.now() / 1000);
    return answers[Math.min(times.length, answers.length) - 1] ?? assert.fail("no answer");
  });
  const kinds = { first, second: kind(() => READY) };
  const options = { config: CONFIG, log, clock, stop: stop.signal };
  const end = chooseBackend(["first", "second"], kinds, options);
  for (let second = 0; second < 60; second++) {
    if (second === stopAt) stop.abort();
    await turn();
    clock.advance(1000);
  }
  return { chosen: await end, times, warnings: lines.length };
}

describe("choosing a backend", () => {
  test("selects the first that the node supports", async () => {
    const { chosen, times, warnings } = await choice([READY]);
    assert.deepEqual(chosen, { name: "first", backend: READY, unsupported: [] });
    assert.deepEqual([times, warnings], [[0], 0]);
  });

  test("tests a backend that was never used on the node once, and then selects the next", async () => {
    const { chosen, times, warnings } = await choice([UNUSED, READY]);
    assert.deepEqual(chosen, { name: "second", backend: READY, unsupported: [UNUSED] });
    assert.deepEqual([times, warnings], [[0], 1]);
  });

  test("retries for 30 s if it was used before, and logs that once", async () => {
    const { chosen, times, warnings } = await choice([USED]);
    assert.equal(chosen?.name, "second");
    assert.deepEqual([times, warnings], [[0, 5, 10, 15, 20, 25, 30], 2]);
  });

  test("keeps a backend that was used before if the node supports it again within that time", async () => {
    const { chosen, times } = await choice([USED, USED, READY]);
    assert.equal(chosen?.name, "first");
    assert.deepEqual(times, [0, 5, 10]);
  });

  test("does not retry once the agent is stopping", async () => {
    const { chosen, times } = await choice([USED], 7);
    assert.deepEqual([chosen, times], [undefined, [0, 5]]);
  });

  test("rejects if the node supports none, with everything that is missing", async () => {
    const { log, lines } = logLines();
    const kinds = { only: { ...KINDS.iptables, prepare: async () => UNUSED } };
    const { signal: stop } = new AbortController();
    const options = { config: CONFIG, log, clock: new FakeClock(), stop };
    await assert.rejects(chooseBackend(["only"], kinds, options), {
      code: "CSP_BACKEND_UNUSABLE",
      message: `this node does not support only: ${UNUSED.lacks[0]}`,
    });
    assert.equal(lines.length, 0);
  });
});

test("/readyz shows in one line which backend is in use, and why a preferred one is not", () => {
  const backend = READY;
  const remark = (name: string, unsupported: readonly Unsupported[]) =>
    remarkLine(backendRemark({ name, backend, unsupported }));
  assert.equal(remark("ipvs", []), "[+]backend-ipvs ok");
  const lacks = ["The kernel has no IPVS.", "nft: Error:\n  no such file."];
  assert.equal(
    remark("iptables", [{ ...UNUSED, lacks }]),
    "[?]backend-iptables ipvs-unusable: The kernel has no IPVS. nft: Error: no such file.",
  );
});
