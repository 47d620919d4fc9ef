import { setTimeout as sleep } from "node:timers/promises";
import { type Attempt, now, parseAttempt } from "../demo/attempt.ts";
import type { Process } from "../lab/process.ts";

/** Answers in a row from the new place after which nothing is expected from the old one any more. */
const SETTLED = 12;
const PATIENCE = 10_000;

/** When connections followed a change, in milliseconds from it. */
export interface Followed {
  /** The first answer from the new place. */
  readonly first: number;
  /** The last connection begun that was not answered from there; 0 if none was. */
  readonly last: number;
}

/** A client that never stops connecting. */
export class Client implements AsyncDisposable {
  readonly #process: Process;
  readonly #attempts: Attempt[] = [];

  constructor(process: Process) {
    this.#process = process;
    process.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) this.#attempts.push(attempt);
    });
  }

  /** Makes a change, and waits until all connections are answered from `place`. Throws after ten seconds. */
  async follow(place: string, change: () => void): Promise<Followed> {
    this.#attempts.length = 0;
    const changed = now();
    change();
    while (
      !this.#attempts.slice(-SETTLED).every(({ answer }) => answer === place) ||
      this.#attempts.length < SETTLED
    ) {
      if (now() > changed + PATIENCE)
        throw new Error(`no answer from ${place}:\n${this.#process.errors}`);
      // Not a multiple of the client's own rhythm: a change shall meet it at any moment.
      await sleep(7 + Math.random() * 10);
    }
    const since = this.#attempts.filter(({ ended }) => ended > changed);
    const news = since.filter(({ answer }) => answer === place);
    const others = since.filter(({ answer }) => answer !== place);
    return {
      first: Math.min(...news.map(({ ended }) => ended)) - changed,
      last: Math.max(0, ...others.map(({ begun }) => begun - changed)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.stop();
  }
}
