import type { Cancel, Clock } from "../../common/clock.ts";

/** Trials that may be refused within `WINDOW`. Each costs a new process and a look at everything. */
const MOST_REFUSED = 256;
/** Milliseconds. */
const WINDOW = 600_000;

/** Bounds what the search for refused services may cost, however many somebody invents. */
export class Allowance {
  readonly #clock: Clock;
  readonly #refilled: () => void;
  #spent = 0;
  readonly #timers = new Set<Cancel>();

  /** `refilled` is called whenever there is more to spend. */
  constructor(clock: Clock, refilled: () => void) {
    this.#clock = clock;
    this.#refilled = refilled;
  }

  /** True if one more trial may be made. */
  get left(): boolean {
    return this.#spent < MOST_REFUSED;
  }

  /** A trial was refused. */
  spend(): void {
    this.#spent++;
    const cancel = this.#clock.after(WINDOW, () => {
      this.#timers.delete(cancel);
      this.#spent--;
      this.#refilled();
    });
    this.#timers.add(cancel);
  }

  stop(): void {
    for (const cancel of this.#timers) cancel();
  }
}
