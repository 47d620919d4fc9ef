import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { now } from "../connections/connections.ts";
import type { Call, Caller } from "./caller.ts";

/** So many calls in a row, the latest ones, are a state that lasts. */
const SETTLED = 20;

/** Longer than Kubernetes takes to give a node up (50 s), on a machine that does other things, too. */
const PATIENCE_MS = 180_000;

/** What something did to the calls of some callers: how many failed. */
export interface Effect {
  /** By their word: "timeout". */
  readonly failed: Readonly<Record<string, number>>;
  /** Of those, the ones that began after the action was done. */
  readonly failedLater: number;
}

/**
 * Runs an action, and waits until every caller gets responses of the expected pods only. Returns the effect on the calls, and
 * prints it in the test's output.
 */
export async function effectOf(
  t: TestContext,
  what: string,
  callers: readonly Caller[],
  expected: RegExp,
  act: () => Promise<unknown>,
): Promise<Effect> {
  const since = now();
  await act();
  const acted = now();
  await untilAnswered(callers, expected, acted);
  const calls = (await Promise.all(callers.map((one) => one.callsSince(since)))).flat();
  const failed: Record<string, number> = {};
  for (const { error } of calls) if (error !== undefined) failed[error] = (failed[error] ?? 0) + 1;
  const others = calls.filter((call) => !isBy(call, expected)).map(({ at }) => at - since);
  const settledAfter = Math.max(0, ...others);
  const answered = calls.filter(({ error }) => error === undefined);
  const slowest = Math.max(0, ...answered.map(({ ms }) => ms));
  const times = `from ${Math.round(settledAfter)} ms on (done after ${Math.round(acted - since)})`;
  const costs = `${calls.length} calls, failed: ${JSON.stringify(failed)}, slowest ${Math.round(slowest)} ms`;
  t.diagnostic(`${what}: all answered by ${expected.source} ${times}; ${costs}`);
  const failedLater = calls.filter(({ at, error }) => error !== undefined && at > acted).length;
  return { failed, failedLater };
}

/** Waits until the latest calls of each, begun since then, were answered by those, and none hangs. */
export async function untilAnswered(
  callers: readonly Caller[],
  by: RegExp,
  since = now(),
): Promise<void> {
  const end = now() + PATIENCE_MS;
  for (;;) {
    const all = await Promise.all(
      callers.map(async (caller) => {
        // As they began. They end in another order.
        const calls = (await caller.callsSince(since)).toSorted((a, b) => a.at - b.at);
        return { latest: calls.slice(-SETTLED), hanging: await caller.hanging() };
      }),
    );
    const isSettled = all.every(
      ({ latest, hanging }) =>
        latest.length === SETTLED && hanging === 0 && latest.every((call) => isBy(call, by)),
    );
    if (isSettled) return;
    if (now() > end) {
      const seen = all.map(({ latest, hanging }) => ({ latest: latest.slice(-3), hanging }));
      assert.fail(`not all answered by ${by.source}: ${JSON.stringify(seen)}`);
    }
    await sleep(250);
  }
}

function isBy({ name }: Call, by: RegExp): boolean {
  return name !== undefined && by.test(name);
}
