import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { untilRemoved } from "./leftovers.ts";

/** What happens, with the second at which it does, while so many tries fail; `stopAt`: the second at which it is stopped. */
async function removed(failures: number, seconds: number, stopAt?: number): Promise<string[]> {
  const clock = new FakeClock();
  const stop = new AbortController();
  const seen: string[] = [];
  const say = (what: string) => seen.push(`${clock.now() / 1000} ${what}`);
  let left = failures;
  const ended = untilRemoved({
    remove: async () => {
      say("try");
      return { failed: left-- > 0 };
    },
    ...{ clock, stop: stop.signal, once: () => say("once") },
  }).then(() => say("end"));
  for (let second = 0; second < seconds; second++) {
    await turn();
    if (second === stopAt) stop.abort();
    await turn();
    clock.advance(1000);
  }
  stop.abort();
  await ended;
  assert.equal(clock.pending, 0);
  return seen;
}

describe("what an earlier run has left behind", () => {
  test("is tried once where nothing fails", async () => {
    assert.deepEqual(await removed(0, 10), ["0 try", "0 once", "0 end"]);
  });

  test("is tried again until it is gone, after a wait that doubles", async () => {
    const tries = ["0 try", "0 once", "5 try", "15 try", "35 try", "35 end"];
    assert.deepEqual(await removed(3, 60), tries);
  });

  test("is tried every five minutes at the least, for as long as it takes", async () => {
    const seen = await removed(Number.POSITIVE_INFINITY, 1300);
    assert.deepEqual(seen.slice(-4), ["615 try", "915 try", "1215 try", "1300 end"]);
  });

  test("is left to the next run by an agent that is told to end", async () => {
    assert.deepEqual(await removed(5, 60, 7), ["0 try", "0 once", "5 try", "7 end"]);
  });
});
