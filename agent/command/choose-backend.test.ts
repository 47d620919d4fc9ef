import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { logLines } from "../../test/support/log-lines.ts";
import type { Support } from "../backends/ipvs/support.ts";
import { askPatiently, backendRemark } from "./choose-backend.ts";

test("/readyz says which backend is in use, and of iptables in the place of IPVS in one line why", () => {
  assert.equal(backendRemark({ backend: "ipvs" }), "[+]backend-ipvs ok");
  const iptables = { backend: "iptables", flavour: "nft" } as const;
  assert.equal(backendRemark(iptables), "[+]backend-iptables ok");
  const lacks = ["The kernel has no IPVS.", "nft: Error:\n  no such file."];
  assert.equal(
    backendRemark({ ...iptables, lacks }),
    "[?]backend-iptables ipvs-unusable: The kernel has no IPVS. nft: Error: no such file.",
  );
});

const CAN = { lacks: [], changed: [], stood: true };
const CANNOT = { ...CAN, lacks: ["netlink: the kernel says ENOMEM."] };

/** What comes of a node that answers so, one answer a try, the last ever after; and at which seconds it was asked. */
async function asked(answers: readonly Support[], stopAt?: number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const times: number[] = [];
  const { log, lines: warnings } = logLines();
  const ask = async () => {
    times.push(clock.now() / 1000);
    return answers[Math.min(times.length, answers.length) - 1] ?? assert.fail("no answer");
  };
  const end = askPatiently(ask, clock, log, stop.signal);
  for (let second = 0; second < 60; second++) {
    if (second === stopAt) stop.abort();
    await turn();
    clock.advance(1000);
  }
  return { support: await end, times, warnings };
}

describe("a node that cannot use IPVS", () => {
  test("is asked once if it never has", async () => {
    const { times, support } = await asked([{ ...CANNOT, stood: false }, CAN]);
    assert.deepEqual(times, [0]);
    assert.deepEqual(support.lacks, CANNOT.lacks);
  });

  test("is asked for 30 s if it has, which is said once", async () => {
    const { times, support, warnings } = await asked([CANNOT]);
    assert.deepEqual(times, [0, 5, 10, 15, 20, 25, 30]);
    assert.deepEqual(support.lacks, CANNOT.lacks);
    assert.equal(warnings.length, 1);
  });

  test("keeps IPVS if it can within that time; what was set in tries that failed is told, too", async () => {
    const change = { name: "net.ipv4.vs.conntrack", before: "0", after: "1" };
    const { times, support } = await asked([{ ...CANNOT, changed: [change] }, CANNOT, CAN]);
    assert.deepEqual(times, [0, 5, 10]);
    assert.deepEqual(support, { ...CAN, changed: [change] });
  });

  test("is not asked again once the agent is told to end", async () => {
    assert.deepEqual((await asked([CANNOT], 7)).times, [0, 5]);
  });
});
