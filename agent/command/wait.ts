import type { Clock } from "../../common/clock.ts";

/** Waits for `ms` milliseconds, or until `stop` is aborted. */
export async function wait(clock: Clock, ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const stopped = () => resolve();
  stop.addEventListener("abort", stopped, { once: true });
  await promise;
  cancel();
  stop.removeEventListener("abort", stopped);
}
