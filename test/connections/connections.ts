import assert from "node:assert/strict";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";
import { type Attempt, parseAttempt, placeOf } from "./attempt.ts";
import { Held } from "./held.ts";

/** Attempts in a row at one place that make a switch done. */
const SETTLED = 20;

/** How a pod connects. */
export interface Pace {
  /** New connections a second; a hundred if absent. */
  readonly rate?: number;
  /** After which no new one begins. */
  readonly seconds: number;
  /** Milliseconds after which an unanswered connection ends. */
  readonly timeout: number;
}

/** A pod that connects to a VIP all the time: each connection counts, and some stay. */
export class Connections {
  /** All so far, in the order in which they ended. */
  readonly attempts: Attempt[] = [];
  readonly #pod: Namespace;
  readonly #vip: string;
  readonly #stream: Process;

  /** Starts connections to an address; one of IPv6 is in brackets. */
  constructor(pod: Namespace, vip: string, { rate = 100, seconds, timeout }: Pace) {
    this.#pod = pod;
    this.#vip = vip;
    const limits = ["--rate", `${rate}`, "--for", `${seconds}`, "--timeout", `${timeout}`];
    this.#stream = pod.spawn(request(...limits, `tcp://${vip}:80`));
    this.#stream.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) this.attempts.push(attempt);
    });
  }

  /** Opens a connection that stays. */
  async hold(): Promise<Held> {
    const client = this.#pod.spawn(request("--hold", `http://${this.#vip}:80`));
    return new Held(client, await client.line(/"line":1\}/));
  }

  /**
   * Waits until the latest ones, begun since `from` of them had ended, all came to one place: a cluster, a server, or `refused`.
   * `told`: the reason to print if they never do. Returns the errors of those since `from`.
   */
  async settled(
    wanted: string,
    from: number,
    told: () => string,
    patience = 10_000,
  ): Promise<string[]> {
    await eventually(() => {
      const latest = this.attempts.slice(-SETTLED);
      const enough = this.attempts.length >= from + SETTLED;
      if (enough && latest.every((one) => placeOf(one) === wanted || one.answer === wanted)) return;
      assert.fail(`not ${wanted}: ${latest.map(placeOf).join()}\n${told()}`);
    }, patience);
    return this.attempts.slice(from).flatMap(({ error }) => error ?? []);
  }

  /** Begins no new connection; those under way come to their ends, so that one that hangs is in `attempts`, too. */
  async finish(): Promise<void> {
    await this.#stream.stop();
  }
}
