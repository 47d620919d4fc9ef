import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { judgeConntrack, parseConntrack } from "./conntrack-table.ts";
import { judgeForwarding } from "./forwarding.ts";

describe("forwarding", () => {
  test("off is told with the sysctl that turns it on", () => {
    const verdict = judgeForwarding("IPv6", "0\n");
    assert.equal(verdict.reason, "forwarding-off");
    assert.match(verdict.advice ?? "", /net\.ipv6\.conf\.all\.forwarding=1/);
  });

  test("on is well, and a family that the kernel does not have cannot be told", () => {
    assert.equal(judgeForwarding("IPv4", "1\n").state, "well");
    assert.equal(judgeForwarding("IPv6", undefined).state, "unknown");
  });
});

describe("the connection tracking table", () => {
  for (const [count, limit, state] of [
    ["0\n", "262144\n", "well"],
    ["90\n", "100\n", "well"],
    ["91\n", "100\n", "failing"],
    ["100\n", "100\n", "failing"],
    // A limit of 0 is no limit (nf_conntrack_core.c).
    ["100\n", "0\n", "unknown"],
    ["", "100\n", "unknown"],
    [undefined, undefined, "unknown"],
  ] as const) {
    test(`${count?.trim()} of ${limit?.trim()}: ${state}`, () => {
      assert.equal(judgeConntrack(parseConntrack(count, limit)).state, state);
    });
  }
});
