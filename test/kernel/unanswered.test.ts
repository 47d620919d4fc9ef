import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ConntrackStage, PODS, VIP } from "../conntrack/stage.ts";
import { assertRescue, assertRescueAtStart } from "../conntrack/unanswered.ts";
import { withoutNative } from "../conntrack/without-native.ts";
import { eventually } from "../support/agent-process.ts";

/** Milliseconds that it may take to forget 50,000 connects. */
const PATIENCE = 30_000;

for (const way of ["netlink", "conntrack"] as const) {
  test(`a connect that a silent endpoint has not answered when it leaves is answered by another, or refused; the rest is let be (${way})`, () =>
    assertRescue(way === "conntrack" ? withoutNative : undefined));
}

test("a restart rescues a connect whose endpoint left meanwhile, and a connect to an import that goes is refused", () =>
  assertRescueAtStart());

test("50,000 connects that an endpoint never answered are forgotten once it has left, and the agent answers meanwhile", async (t) => {
  await using stage = await ConntrackStage.create();
  stage.declare();
  await stage.agent.start();
  await stage.use(["a", "b"]);
  const fill = () => stage.node.exec(program("fill.ts", "TCP", "50000", VIP, "80", PODS.b, "8080"));
  const count = async () => Number(await stage.node.exec(["conntrack", "-C"]));
  await fill();
  assert.ok((await count()) >= 50_000);
  stage.place(["a"]);
  await eventually(async () => {
    assert.equal(await stage.agent.page("/livez"), "ok\n");
    assert.ok((await count()) < 1_000);
  }, PATIENCE);
  await fill();
  t.diagnostic(await stage.node.exec(program("stall.ts", "netlink", "TCP", VIP, "80", PODS.a)));
  assert.ok((await count()) < 1_000);
});

function program(name: string, ...args: readonly string[]): string[] {
  return [process.execPath, join(import.meta.dirname, "../conntrack", name), ...args];
}
