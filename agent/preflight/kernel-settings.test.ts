import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkConntrack, parseConntrack } from "./conntrack-table.ts";
import { checkForwarding } from "./forwarding.ts";

describe("forwarding", () => {
  test("off: the advice names the sysctl", () => {
    const finding = checkForwarding("IPv6", "0\n");
    assert.equal(finding.reason, "forwarding-off");
    assert.match(finding.advice ?? "", /net\.ipv6\.conf\.all\.forwarding=1/);
  });

  test("on: ok; a family that the kernel lacks: unknown", () => {
    assert.equal(checkForwarding("IPv4", "1\n").state, "ok");
    assert.equal(checkForwarding("IPv6", undefined).state, "unknown");
  });
});

describe("the connection tracking table", () => {
  for (const [count, limit, state] of [
    ["0\n", "262144\n", "ok"],
    ["90\n", "100\n", "ok"],
    ["91\n", "100\n", "failing"],
    ["100\n", "100\n", "failing"],
    // A limit of 0 is no limit (nf_conntrack_core.c).
    ["100\n", "0\n", "unknown"],
    ["", "100\n", "unknown"],
    [undefined, undefined, "unknown"],
  ] as const) {
    test(`${count?.trim()} of ${limit?.trim()}: ${state}`, () => {
      assert.equal(checkConntrack(parseConntrack(count, limit)).state, state);
    });
  }
});
