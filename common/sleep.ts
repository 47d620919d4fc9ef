import type { Clock } from "./clock.ts";

/** Resolves after `ms` milliseconds, or once the signal is aborted; the caller checks the signal. */
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
