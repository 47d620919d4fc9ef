import type { Clock } from "../clock.ts";
import { ApiFault, type FaultReason } from "./api-fault.ts";

/** Milliseconds over which waiting clients are spread once a server has recovered. */
const SPREAD_MS = 1000;

/** Faults that mean an outage of the server. */
const SERVER_DOWN: ReadonlySet<FaultReason> = new Set(["unreachable", "stalled", "server-error"]);

/** True for a fault that means an outage. PURE. */
export function isServerDown(reason: FaultReason): boolean {
  return SERVER_DOWN.has(reason);
}

/** Faults of a healthy server that last until somebody changes a policy, a quota, a right, a namespace, or what is installed. */
const REJECTIONS: ReadonlySet<FaultReason> = new Set([
  "absent",
  "forbidden",
  "invalid",
  "namespace-terminating",
  "not-served",
  "refused",
  "webhook-failed",
  "write-failed",
]);

/** True for an ApiFault that a retry does not change, as long as nobody changes what causes it. PURE. */
export function isRejection(thrown: unknown): thrown is ApiFault {
  return thrown instanceof ApiFault && REJECTIONS.has(thrown.reason);
}

/** Milliseconds of a write until it was rejected that hung: the least timeout of a webhook. */
const HUNG_MS = 1_000;

/** True for a write that hung until it was rejected, as by a webhook that does not answer: others like it would take as long. PURE. */
export function hasHung(thrown: unknown): thrown is ApiFault {
  return isRejection(thrown) && thrown.took >= HUNG_MS;
}

/** A wait after a failure, in milliseconds. */
export interface Wait {
  readonly ms: number;
  /** Part of `ms` that a recovery of the server does not shorten, such as a Retry-After. */
  readonly least: number;
}

/** Options of `Recovery.wait`. */
export interface WaitOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Ends the wait immediately. */
  readonly signal: AbortSignal;
}

/**
 * Shared by all clients of one API server. When a client succeeds after a failure, all waiting clients retry within a
 * second, but not before the `least` of their wait. During an outage, one client is the probe, which retries more often.
 */
export class Recovery {
  /** Clients whose last request failed. */
  readonly #failing = new Set<object>();
  /** Clients that wait for an outage to end; the first is the probe. */
  readonly #down = new Set<object>();
  readonly #waiting = new Set<() => void>();
  /** What to call when the server was restored, by client. */
  readonly #listeners = new Map<object, () => void>();

  /** Calls `restored` when another client finds that the server was restored from a backup. */
  onRestored(client: object, restored: () => void): void {
    this.#listeners.set(client, restored);
  }

  /**
   * `client` found that the server was restored. The others may not find it: a watch is resumed without an error once the
   * server has given out the resourceVersions of before again.
   */
  restored(client: object): void {
    for (const [other, restored] of [...this.#listeners]) if (other !== client) restored();
  }

  /** A request of `client` failed, and the client will not wait. */
  failed(client: object): void {
    this.#failing.add(client);
  }

  /** A request of `client` failed, and the client will wait. True if it is the probe. */
  failedAndWaits(client: object, reason: FaultReason): boolean {
    this.#failing.add(client);
    if (isServerDown(reason)) this.#down.add(client);
    else this.#down.delete(client);
    const [probe] = this.#down;
    return probe === client;
  }

  /** A request of `client` succeeded. */
  succeeded(client: object): void {
    this.#down.delete(client);
    if (!this.#failing.delete(client)) return;
    for (const wake of [...this.#waiting]) wake();
  }

  /** `client` sends no more requests. */
  forget(client: object): void {
    this.#down.delete(client);
    this.#failing.delete(client);
    this.#listeners.delete(client);
  }

  /** Settles when the wait is over or the signal is aborted. */
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
