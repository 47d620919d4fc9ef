import type { Cancel, Clock } from "../../common/clock.ts";

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

/** A clock that a test advances, and that then runs what is due, in order of time. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Cancel {
    const timer = { due: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Moves time on by `ms`; what is started on the way and falls due within it runs, too. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let timer = this.#first(end); timer !== undefined; timer = this.#first(end)) {
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.due);
      timer.run();
    }
    this.#now = end;
  }

  /** Moves time on by `ms` as for a process that is stopped: only afterwards does what fell due run, all of it late. */
  standStill(ms: number): void {
    this.jump(ms);
    this.advance(0);
  }

  /** Moves time on by `ms` and runs nothing: timers that fall due run with the next `advance`. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Timers that are still to come. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Milliseconds until the next timer; undefined if there is none. */
  get next(): number | undefined {
    const first = this.#first(Number.POSITIVE_INFINITY);
    return first === undefined ? undefined : first.due - this.#now;
  }

  #first(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer;
    }
    return first;
  }
}
