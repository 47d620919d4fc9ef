import { setTimeout as sleep } from "node:timers/promises";
import { type Attempt, now, parseAttempt } from "../test/connections/connections.ts";
import type { Namespace } from "../test/lab/namespace.ts";
import type { Process } from "../test/lab/process.ts";
import { type Change, type Followed, followed } from "./followed.ts";

/** New connections a second between bursts: few enough to leave the machine to what is measured. */
export const RATE = 500;
const LONGEST_RUN = 900;
/** Answers in a row from the new place after which nothing is expected from the old one any more. */
const SETTLED = 12;
/** Attempts that are remembered: half a minute's. */
const KEPT = 15_000;

/** A client that never stops connecting, and does so without a pause when a change is to be seen. */
export class Client implements AsyncDisposable {
  readonly #process: Process;
  #attempts: Attempt[] = [];
  /** All finished connections. */
  made = 0;
  /** Those without a response, by error. */
  readonly failures = new Map<string, number>();

  /** `program`: the path of the connector (`buildConnector`). */
  constructor(program: string, pod: Namespace, address: string) {
    this.#process = pod.spawn([
      program,
      "connect",
      address,
      "80",
      String(RATE),
      String(LONGEST_RUN),
    ]);
    this.#process.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) this.#add(attempt);
    });
  }

  /** Connects without a pause from now on, until another server answers, or for 150 ms. Attempts become known at the end of that. */
  hurry(): void {
    this.#process.signal("SIGUSR1");
  }

  /** How connections followed changes of the last half minute. Throws if none followed one of them. */
  followed(changes: readonly Change[]): Followed[] {
    return followed(this.#attempts, changes).map((one) => {
      if (one === undefined) throw new Error("no connection followed a change");
      return one;
    });
  }

  /** Waits until all connections are answered from `place`. Throws after so many milliseconds. */
  async until(place: string, patience: number): Promise<void> {
    const end = now() + patience;
    while (!this.#settled(place)) {
      if (now() > end) {
        const said = JSON.stringify(this.#attempts.at(-1));
        throw new Error(`no answer from ${place}, but ${said}:\n${this.#process.errors}`);
      }
      // Not a multiple of the client's own rhythm: a change shall meet it at any moment.
      await sleep(7 + Math.random() * 10);
    }
  }

  /** Resets the count of failures: those before the first rules do not count. */
  forgive(): void {
    this.made = 0;
    this.failures.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }

  #settled(place: string): boolean {
    const latest = this.#attempts.slice(-SETTLED);
    return latest.length === SETTLED && latest.every(({ answer }) => answer === place);
  }

  #add(attempt: Attempt): void {
    this.made++;
    if (attempt.error !== undefined)
      this.failures.set(attempt.error, (this.failures.get(attempt.error) ?? 0) + 1);
    this.#attempts.push(attempt);
    if (this.#attempts.length > 2 * KEPT) this.#attempts = this.#attempts.slice(-KEPT);
  }
}
