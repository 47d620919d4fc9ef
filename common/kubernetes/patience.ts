import { type BackoffBounds, backoff } from "../backoff.ts";
import type { ApiFault, FaultReason } from "./api-fault.ts";
import { isDeaf, type Wait } from "./recovery.ts";

/** Milliseconds to wait after failures: a restart is over in seconds, an outage is asked about gently. */
const BACKOFF: BackoffBounds = { min: 800, max: 30_000 };
/** The same for who scouts for others: no more often than every kubelet asks for its Node. */
const SCOUTING: BackoffBounds = { min: 800, max: 10_000 };
/** By what share a wait that the server asks for may grow, so that not everybody comes back at once. */
const RETRY_AFTER_SPREAD = 0.25;

/** What a server that is well says of history that it does not have. */
const LOST: ReadonlySet<FaultReason> = new Set(["expired", "rewound"]);

/** How long a reflector waits after each failure in a row. */
export class Patience {
  readonly #random: () => number;
  /** Failures in a row. */
  #failures = 0;
  /** Nobody answered the last time. */
  #deaf = false;
  /** Since all was well last: history was lost; somebody answered after nobody had. */
  #since = { lost: false, answered: false };

  /** `random`: gives a number in [0, 1). */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** All was well for long enough: failures before it are forgotten. */
  forget(): void {
    this.#failures = 0;
    this.#deaf = false;
    this.#since = { lost: false, answered: false };
  }

  /** A watch was closed as soon as it was opened. One such end is a server that restarts; only a row of them is a loop. */
  afterEarlyEnd(): Wait {
    this.#failures++;
    this.#deaf = false;
    return this.#failures === 1 ? { ms: 0, least: 0 } : this.#backoff(BACKOFF);
  }

  /**
   * `isScout`: others wait for our word. `wasCutOff`: we were answered since the last wait, which was not to last: that
   * another is answered now says nothing, or all would wake each other for ever.
   */
  afterFault({ reason, retryAfter = 0 }: ApiFault, isScout: boolean, wasCutOff: boolean): Wait {
    this.#failures++;
    const wasDeaf = this.#deaf;
    this.#deaf = isDeaf(reason);
    // A server that says so is well, as after a restart that was long in coming; only a row of them is a loop.
    const lost = LOST.has(reason) && !this.#since.lost;
    this.#since.lost ||= lost;
    if (lost) return { ms: 0, least: 0 };
    // A server that starts refuses what it will grant in a moment, or goes once more: that has nothing to do with how long
    // it was away.
    if ((wasCutOff || (wasDeaf && !this.#deaf)) && !this.#since.answered) {
      this.#since.answered = true;
      this.#failures = 1;
    }
    const { ms, least } = this.#backoff(isScout ? SCOUTING : BACKOFF);
    const asked = retryAfter * (1 + RETRY_AFTER_SPREAD * this.#random());
    return { ms: Math.max(asked, ms), least: Math.max(asked, wasCutOff ? ms : least) };
  }

  #backoff(bounds: BackoffBounds): Wait {
    return { ms: backoff(this.#failures, bounds, this.#random()), least: bounds.min };
  }
}
