import type { Clock } from "./clock.ts";

/** Settles after `ms` milliseconds, or as soon as the signal is aborted; it is on whoever waited to look which. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopped = (): void => resolve();
  const cancel = clock.after(ms, resolve);
  signal.addEventListener("abort", stopped);
  if (signal.aborted) resolve();
  return promise.finally(() => {
    cancel();
    signal.removeEventListener("abort", stopped);
  });
}
