/** Cancels a timer of `Clock.after`; safe to call late or twice. */
export type Cancel = () => void;

/** Monotonic time: changes of the system clock must not distort durations. Only differences are meaningful. */
export interface Clock {
  /** Milliseconds, with fractions, that never go back. */
  now(): number;
  /** Calls `run` once, `ms` milliseconds from now or later, never earlier, unless cancelled. */
  after(ms: number, run: () => void): Cancel;
}

/** Node fires a longer timer immediately, with only a warning. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Node's monotonic clock. A pending `after` keeps the process alive. Node's timers may fire 1.4 ms early: it waits. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const due = performance.now() + ms;
    const wait = (left: number): NodeJS.Timeout =>
      setTimeout(
        () => {
          const rest = due - performance.now();
          if (rest > 0) timer = wait(rest);
          else run();
        },
        Math.min(Math.ceil(left), LONGEST_TIMER),
      );
    let timer = wait(ms);
    return () => clearTimeout(timer);
  },
};

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

/** Milliseconds of delay of a check each second that mean that events from before are still unread. */
const UNREAD = 2000;

/** Calls `check` each second until it is cancelled. `isLate`: the process was stopped, and events of that time may be unread. */
export function everySecond(clock: Clock, check: (isLate: boolean) => void): Cancel {
  const next = (): Cancel => {
    const due = clock.now() + 1000;
    return clock.after(1000, () => {
      const isLate = clock.now() - due >= UNREAD;
      cancel = next();
      check(isLate);
    });
  };
  let cancel = next();
  return () => cancel();
}

/** Milliseconds of delay of a timer that mean that the process was stopped. */
const LATE = 1000;
/** Milliseconds in which a resumed process handles events that arrived meanwhile. */
const FIND = 5000;

/**
 * Calls `run` if a peer has not responded for `ms` milliseconds, unless cancelled. After the process was stopped (SIGSTOP,
 * CPU starvation), it waits longer: timers expire before responses that arrived in time are read.
 */
export function deadline(clock: Clock, ms: number, run: () => void): Cancel {
  const due = clock.now() + ms;
  let cancel = clock.after(ms, () => {
    if (clock.now() - due < LATE) return run();
    cancel = deadline(clock, Math.min(ms, FIND), run);
  });
  return () => cancel();
}
