import { setTimeout as sleep } from "node:timers/promises";
import type { Attempt } from "./attempt.ts";
import type { Options } from "./options.ts";
import { now, print } from "./output.ts";
import { Tally } from "./tally.ts";

/**
 * Makes all attempts; true if each was answered. After SIGTERM, no attempt starts, and those under way end and are printed.
 */
export async function repeat(options: Options, attempt: Attempt): Promise<boolean> {
  const all = new Tally();
  let recent = new Tally();
  let pending = 0;
  let begun = 0;
  const start = now();
  const flush = () => {
    const { answers, errors, maxMs } = recent;
    recent = new Tally();
    print({ at: now(), answers, errors, maxMs });
  };
  const sums = options.everyMs === undefined ? undefined : setInterval(flush, options.everyMs);
  const one = async () => {
    begun++;
    pending++;
    const at = now();
    const result = await attempt(options.target, options.timeoutMs);
    const ms = Math.round((now() - at) * 1_000) / 1_000;
    pending--;
    all.add(result, ms);
    recent.add(result, ms);
    if (sums === undefined) print({ at, ...result, ms });
  };
  const running = new Set<Promise<void>>();
  let isOver = false;
  process.once("SIGTERM", () => {
    isOver = true;
  });
  const more = () => !isOver && begun < options.count && now() - start < options.forMs;
  while (more()) {
    // Each attempt has a fixed time, so that a late timer does not lower the rate.
    const due =
      options.rate === undefined ? begun + 1 : Math.ceil(((now() - start) * options.rate) / 1_000);
    while (more() && begun < due && pending < options.inFlight) {
      const promise = one().finally(() => running.delete(promise));
      running.add(promise);
    }
    if (options.rate === undefined) await Promise.all(running);
    if (more()) await sleep(1);
  }
  await Promise.all(running);
  clearInterval(sums);
  if (sums !== undefined && recent.total > 0) flush();
  const { total, answered, errors, maxMs } = all;
  if (total !== 1 || sums !== undefined) print({ total, answered, errors, maxMs });
  return answered === total;
}
