/** How long a guest may be silent, and may live. */
export interface Limits {
  readonly silenceMs: number;
  readonly lifeMs: number;
}

/**
 * Decides when to end a guest: after too long without output (it hangs, or a test in it does), or after too long in total. The
 * times are the caller's, of any monotonic clock.
 */
export class Watchdog {
  readonly #limits: Limits;
  readonly #startMs: number;
  #heardMs: number;

  constructor(limits: Limits, nowMs: number) {
    this.#limits = limits;
    this.#startMs = nowMs;
    this.#heardMs = nowMs;
  }

  /** The guest has printed something. */
  heard(nowMs: number): void {
    this.#heardMs = nowMs;
  }

  /** Why the guest has to end now; `undefined` while all is well. */
  verdict(nowMs: number): string | undefined {
    const { silenceMs, lifeMs } = this.#limits;
    if (nowMs - this.#heardMs >= silenceMs) return `silent for ${silenceMs / 1_000} s`;
    if (nowMs - this.#startMs >= lifeMs) return `no end within ${lifeMs / 1_000} s`;
    return undefined;
  }
}
