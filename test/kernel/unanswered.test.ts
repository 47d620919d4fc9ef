import { test } from "node:test";
import { ConntrackStage, PODS } from "../conntrack/stage.ts";
import { assertUnanswered, assertUnansweredAtStart } from "../conntrack/unanswered.ts";
import { withoutNative } from "../conntrack/without-native.ts";

for (const way of ["netlink", "conntrack"] as const) {
  test(`when a silent endpoint is removed, its unanswered connects reach another endpoint or are rejected; other entries stay (${way})`, () =>
    assertUnanswered(way === "conntrack" ? withoutNative : undefined));
}

test("after a restart, a connect to an endpoint removed meanwhile reaches another; a connect to a deleted import is rejected", () =>
  assertUnansweredAtStart());

test("50,000 unanswered entries of a removed endpoint are deleted, and the agent stays responsive", async () => {
  await using stage = await ConntrackStage.start();
  await stage.use(["a", "b"]);
  await stage.fill("TCP", 80, PODS.b);
  stage.writeSlices(["a"]);
  await stage.untilForgotten();
});
