import type { Cancel, Clock } from "./clock.ts";

/** Milliseconds after which a timer is so late that this process must have stood still. */
const LATE = 1000;
/** Milliseconds in which a process that goes on finds what has come meanwhile. */
const FIND = 5000;

/**
 * Calls `run` once, unless cancelled, when somebody has not answered for `ms` milliseconds. A process that was stopped
 * and goes on (SIGSTOP, a frozen cgroup, a host out of CPU) sees that time is up before it sees what came in time: then
 * it was not the other who was silent, and there is a little more time to see that.
 */
export function deadline(clock: Clock, ms: number, run: () => void): Cancel {
  const due = clock.now() + ms;
  let cancel = clock.after(ms, () => {
    if (clock.now() - due < LATE) return run();
    cancel = deadline(clock, Math.min(ms, FIND), run);
  });
  return () => cancel();
}
