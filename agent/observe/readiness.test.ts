import assert from "node:assert/strict";
import { test } from "node:test";
import { checksText, isWell } from "../../common/checks.ts";
import type { FamilyProgress } from "../sync/agent.ts";
import { type AgentState, liveness, readiness } from "./readiness.ts";

function state(v4: FamilyProgress, listed = true): AgentState {
  return { listed, families: new Map([["IPv4", v4]]) };
}

function reasons(checks: ReturnType<typeof readiness>): (string | undefined)[] {
  return checks.map(({ reason }) => reason);
}

test("an agent that has nothing to do is ready, however long", () => {
  assert.ok(isWell(readiness(state({ synced: true }), 1e12)));
});

test("an agent is not ready before its sources have listed and its first sync is done", () => {
  assert.deepEqual(reasons(readiness(state({ synced: false }, false), 0)), [
    "not-listed",
    "not-synced",
    undefined,
  ]);
});

test("the reason why a source has not listed is reported, if it is known", () => {
  const waiting = state({ synced: false }, false);
  assert.equal(reasons(readiness(waiting, 0, "unreadable"))[0], "unreadable");
});

test("an agent that retains most services is not ready, and reports the reason", () => {
  const retaining = state({ synced: false, retained: 12 });
  assert.deepEqual(reasons(readiness(retaining, 0)), [undefined, "mass-loss", undefined]);
});

test("an agent is not ready once a change has waited for more than 60 seconds", () => {
  const waiting = state({ synced: true, oldestWaiting: 1000 });
  assert.ok(isWell(readiness(waiting, 61_000)));
  assert.deepEqual(reasons(readiness(waiting, 61_001)), [undefined, undefined, "change-waiting"]);
});

test("one family that is not in sync makes the node not ready, and is named", () => {
  const both: AgentState = {
    listed: true,
    families: new Map([
      ["IPv4", { synced: true }],
      ["IPv6", { synced: false }],
    ]),
  };
  assert.equal(
    checksText("readyz", readiness(both, 0)),
    [
      "[+]sources ok",
      "[+]first-sync-IPv4 ok",
      "[+]changes-IPv4 ok",
      "[-]first-sync-IPv6 failed: not-synced",
      "[+]changes-IPv6 ok",
      "readyz check failed",
      "",
    ].join("\n"),
  );
});

test("only a pass that hangs fails liveness; failures and waiting changes do not", () => {
  const failing = state({ synced: false, oldestWaiting: 0 }, false);
  assert.ok(isWell(liveness(failing, 1e12)));
  const stuck = state({ synced: true, stepSince: 1000 });
  assert.ok(isWell(liveness(stuck, 301_000)));
  assert.deepEqual(reasons(liveness(stuck, 301_001)), ["pass-stuck"]);
  assert.ok(isWell(liveness(stuck, 901_000, 600_000)), "a tool may take ten minutes");
  assert.deepEqual(reasons(liveness(stuck, 901_001, 600_000)), ["pass-stuck"]);
  assert.equal(checksText("livez", liveness(stuck, 2000)), "[+]pass-IPv4 ok\nlivez check passed\n");
});
