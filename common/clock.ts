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
