import { sleep, systemClock } from "../../common/clock.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";

/** Milliseconds between attempts. */
const PAUSE_MS = 500;
/** Faults that pass: the connection, the server's load, and kinds that are served a moment after their CRD is applied. */
const PASSING = ["unreachable", "stalled", "throttled", "server-error", "not-served"] as const;

/**
 * Repeats `attempt` until it returns a result, or until `within` milliseconds have passed, and then rejects with `stalled` and the
 * last explanation. `attempt` returns `{ missing }` with what it waits for.
 */
export async function until<Result>(
  within: number,
  signal: AbortSignal,
  attempt: () => Promise<{ readonly found: Result } | { readonly missing: string }>,
): Promise<Result> {
  const end = systemClock.now() + within;
  for (;;) {
    const outcome = await attempt().catch(passing);
    if ("found" in outcome) return outcome.found;
    signal.throwIfAborted();
    if (systemClock.now() >= end) {
      throw new ApiFault("stalled", `${outcome.missing} (after ${Math.round(within / 1000)} s)`);
    }
    await sleep(systemClock, PAUSE_MS, signal);
  }
}

function passing(thrown: unknown): { readonly missing: string } {
  if (!(thrown instanceof ApiFault) || !PASSING.some((reason) => reason === thrown.reason))
    throw thrown;
  return { missing: thrown.message };
}
