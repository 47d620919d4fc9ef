import type { Cancel, Clock } from "./clock.ts";

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
