import type { ObjectKey } from "../../api/names.ts";

/** Times that are kept of each kind: while the kernel refuses everything for days, the oldest count. */
const MOST_TIMES = 10_000;

/**
 * Changes that are not live yet: which imports they are about, and when each was learned of, in milliseconds of the
 * clock. They wait, are in flight with a transaction, or are withheld until it is known whether they may go through.
 */
export class WaitingChanges {
  #imports = new Set<ObjectKey>();
  #waiting: number[] = [];
  #inFlight: number[] = [];
  #withheld: number[] = [];

  /** True if some import may not be what it was when it was last proposed. */
  get any(): boolean {
    return this.#imports.size > 0;
  }

  /** When the oldest change was learned of; undefined if all are live. */
  get oldest(): number | undefined {
    // Sources learn of changes one by one, but tell of them together: the first told is not always the oldest.
    const times = [...this.#inFlight, ...this.#waiting, ...this.#withheld];
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
  }

  add(key: ObjectKey, at: number): void {
    this.#imports.add(key);
    if (this.#waiting.length < MOST_TIMES) this.#waiting.push(at);
  }

  /** True if an import has changed since `take`. */
  has(key: ObjectKey): boolean {
    return this.#imports.has(key);
  }

  /** All that waits is in flight from now on: gives the imports that it is about. */
  take(): ReadonlySet<ObjectKey> {
    this.#inFlight = [...this.#inFlight, ...this.#waiting.splice(0)];
    const imports = this.#imports;
    this.#imports = new Set();
    return imports;
  }

  /** What is in flight is live, and with it, if that is `whole`, all that was withheld: gives the times of these changes. */
  live(whole: boolean): readonly number[] {
    if (whole) this.#inFlight.push(...this.#withheld.splice(0));
    return this.#inFlight.splice(0);
  }

  /** What was in flight has to wait again. */
  failed(): void {
    this.#waiting = [...this.#inFlight.splice(0), ...this.#waiting].slice(0, MOST_TIMES);
  }

  /** Nothing that waits is sure to become live with the next transaction. */
  withhold(): void {
    this.#withheld = [...this.#withheld, ...this.#waiting.splice(0)].slice(0, MOST_TIMES);
  }
}
