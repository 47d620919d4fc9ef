import type { Clock } from "../clock.ts";
import type { FaultReason } from "./api-fault.ts";

/** Milliseconds over which those who wait come back once a server has recovered. */
const SPREAD_MS = 1000;

/** Faults with which nobody has answered, or none who could. With all others a server is there. */
const DEAF: ReadonlySet<FaultReason> = new Set(["unreachable", "stalled", "server-error"]);

/** True for a fault with which nobody has answered, or none who could. PURE. */
export function isDeaf(reason: FaultReason): boolean {
  return DEAF.has(reason);
}

/** How long is waited after a failure. Milliseconds. */
export interface Wait {
  readonly ms: number;
  /** So long in any case: the server asks for it, or something is to be looked at a second time. */
  readonly least: number;
}

/** What `wait` goes by. */
export interface WaitOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Ends the wait at once. */
  readonly signal: AbortSignal;
}

/**
 * What those who ask one API server learn from each other. Whoever was not answered well the last time, and is now, tells
 * all that wait: they need not do so until their own backoff is over. They come back spread over a second, and not before
 * their wait's `least`: a Retry-After is obeyed whoever else is answered. Who is refused for good asks once more for each
 * recovery of another.
 *
 * One of those that wait because nobody answers is the scout: it asks more often than the others need to.
 */
export class Recovery {
  /** Who was not answered well the last time. */
  readonly #failing = new Set<object>();
  /** Who waits for somebody to answer; the first is the scout. */
  readonly #deaf = new Set<object>();
  readonly #waiting = new Set<() => void>();

  /** `who` was not answered, or not well, and is not going to wait. */
  failed(who: object): void {
    this.#failing.add(who);
  }

  /** `who` was not answered, or not well, and is going to wait. True if it is the scout. */
  gaveUp(who: object, reason: FaultReason): boolean {
    this.#failing.add(who);
    if (!isDeaf(reason)) this.#deaf.delete(who);
    else this.#deaf.add(who);
    const [scout] = this.#deaf;
    return scout === who;
  }

  /** `who` was answered well. */
  succeeded(who: object): void {
    this.#deaf.delete(who);
    if (!this.#failing.delete(who)) return;
    for (const wake of [...this.#waiting]) wake();
  }

  /** `who` asks no more. */
  forget(who: object): void {
    this.#deaf.delete(who);
    this.#failing.delete(who);
  }

  /** Settles when the wait is over, or ended; at once where there is nothing to wait for. */
  async wait({ ms, least }: Wait, { clock, random, signal }: WaitOptions): Promise<void> {
    if (ms <= 0 || signal.aborted) return;
    const began = clock.now();
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    const wake = (): void => {
      this.#waiting.delete(wake);
      const now = clock.now();
      cancels.push(clock.after(Math.max(began + least - now, SPREAD_MS * random()), end));
    };
    const cancels = [clock.after(ms, end)];
    if (least < ms) this.#waiting.add(wake);
    signal.addEventListener("abort", end);
    try {
      await promise;
    } finally {
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", end);
      for (const cancel of cancels) cancel();
    }
  }
}
