/** Takes back what `Clock.after` promised; harmless when it has happened already, or a second time. */
export type Cancel = () => void;

/**
 * Time as everything that waits or measures sees it. It is monotonic, not the time of day: a clock that an
 * administrator or NTP sets must neither fake a latency nor declare a healthy agent stale. Its zero means
 * nothing; only differences do.
 */
export interface Clock {
  /** Milliseconds, with fractions, that never go back. */
  now(): number;
  /** Calls `run` once, `ms` milliseconds from now or later, never earlier, unless cancelled. */
  after(ms: number, run: () => void): Cancel;
}

/** Node fires a longer timer at once, with no more than a warning: a long wait would be a busy loop. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * The process's own clock. A pending `after` keeps the process alive. Node counts whole milliseconds and cuts off the
 * rest, so that every second timer fires early, by up to 1.4 ms: who then looks at the clock would find that it is not
 * time yet, and nobody would call again.
 */
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
