import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ConntrackStage, PODS, VIP } from "../conntrack/stage.ts";
import { assertUnanswered, assertUnansweredAtStart } from "../conntrack/unanswered.ts";
import { withoutNative } from "../conntrack/without-native.ts";
import { eventually } from "../stages/agent-process.ts";

/** Milliseconds that it may take to forget 50,000 connects. */
const PATIENCE = 90_000;

for (const way of ["netlink", "conntrack"] as const) {
  test(`when a silent endpoint is removed, its unanswered connects reach another endpoint or are rejected; other entries stay (${way})`, () =>
    assertUnanswered(way === "conntrack" ? withoutNative : undefined));
}

test("after a restart, a connect to an endpoint removed meanwhile reaches another; a connect to a deleted import is rejected", () =>
  assertUnansweredAtStart());

test("50,000 unanswered entries of a removed endpoint are deleted, and the agent stays responsive", async (t) => {
  await using stage = await ConntrackStage.create();
  stage.writeImport();
  await stage.agent.start();
  await stage.use(["a", "b"]);
  const fill = () => stage.node.exec(program("fill.ts", "TCP", "50000", VIP, "80", PODS.b, "8080"));
  const count = async () => Number(await stage.node.exec(["conntrack", "-C"]));
  const left = async () => {
    const entries = await count();
    assert.ok(entries < 1_000, `${entries} entries are left`);
  };
  await fill();
  assert.ok((await count()) >= 50_000);
  stage.writeSlices(["a"]);
  await eventually(async () => {
    assert.equal(await stage.agent.page("/livez"), "ok\n");
    await left();
  }, PATIENCE);
  // It would delete some of the entries whose cleanup is measured.
  await stage.agent.stop();
  await fill();
  const cleanup = program("stall.ts", "netlink", "TCP", VIP, "80", PODS.a, "49000");
  t.diagnostic(await stage.node.exec(cleanup));
  await left();
});

function program(name: string, ...args: readonly string[]): string[] {
  return [process.execPath, join(import.meta.dirname, "../conntrack", name), ...args];
}
