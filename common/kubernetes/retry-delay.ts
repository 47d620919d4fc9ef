import { type BackoffBounds, backoff, spreadRetryAfter } from "../backoff.ts";
import type { ApiFault, FaultReason } from "./api-fault.ts";
import { isRejection, isServerDown, type Wait } from "./recovery.ts";

/** Milliseconds between retries. A restart takes seconds; a long outage must not cause load. */
const BACKOFF: BackoffBounds = { min: 800, max: 30_000 };
/** The same for the reflector that probes for the others: no more often than every kubelet reads its Node. */
const PROBE_BACKOFF: BackoffBounds = { min: 800, max: 10_000 };

/** The same for a client of which few exist, while the server rejects its requests: nothing reports that a right was granted. */
const REJECTED_BACKOFF: BackoffBounds = { min: 800, max: 5_000 };

/** Faults of a healthy server that has lost history. */
const HISTORY_LOST: ReadonlySet<FaultReason> = new Set(["expired", "rewound"]);

/** Computes how long a reflector waits after each of its consecutive failures. */
export class RetryDelay {
  readonly #random: () => number;
  readonly #isRare: boolean;
  #failures = 0;
  /** The last failure was an outage of the server. */
  #serverDown = false;
  /** Happened since the last `reset`, and shortens a wait only once. */
  #since = { historyLost: false, answered: false };

  /** `random`: returns a number in [0, 1). `isRare`: as in `ResourceQuery`. */
  constructor(random: () => number, isRare = false) {
    this.#random = random;
    this.#isRare = isRare;
  }

  /** A watch was healthy for long enough: earlier failures no longer count. */
  reset(): void {
    this.#failures = 0;
    this.#serverDown = false;
    this.#since = { historyLost: false, answered: false };
  }

  /** The server closed a watch right after opening it. Once means a restart; only repeated closes are a loop. */
  afterEarlyEnd(): Wait {
    this.#failures++;
    this.#serverDown = false;
    return this.#failures === 1 ? { ms: 0, least: 0 } : this.#backoff(BACKOFF);
  }

  /**
   * `isProbe`: the other reflectors wait for this one. `wasCutOff`: the server answered, but the watch did not last. A
   * success of another reflector then must not end this wait, or they would wake each other endlessly.
   */
  afterFault(fault: ApiFault, isProbe: boolean, wasCutOff: boolean): Wait {
    const { reason, retryAfter = 0 } = fault;
    this.#failures++;
    const wasDown = this.#serverDown;
    this.#serverDown = isServerDown(reason);
    // The server answers, as after a slow restart; only repeated losses are a loop.
    const lost = HISTORY_LOST.has(reason) && !this.#since.historyLost;
    this.#since.historyLost ||= lost;
    if (lost) return { ms: 0, least: 0 };
    // A starting server rejects requests for a moment, or stops once more, however long the outage was before.
    if ((wasCutOff || (wasDown && !this.#serverDown)) && !this.#since.answered) {
      this.#since.answered = true;
      this.#failures = 1;
    }
    const bounds = this.#isRare && isRejection(fault) ? REJECTED_BACKOFF : BACKOFF;
    const { ms, least } = this.#backoff(isProbe ? PROBE_BACKOFF : bounds);
    const requested = spreadRetryAfter(retryAfter, this.#random());
    return { ms: Math.max(requested, ms), least: Math.max(requested, wasCutOff ? ms : least) };
  }

  #backoff(bounds: BackoffBounds): Wait {
    return { ms: backoff(this.#failures, bounds, this.#random()), least: bounds.min };
  }
}
