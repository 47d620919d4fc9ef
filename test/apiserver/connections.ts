import assert from "node:assert/strict";
import { type Attempt, parseAttempt, placeOf } from "../../demo/attempt.ts";
import { Held } from "../../demo/held.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";

/** Attempts in a row at one place that make a switch done. */
const SETTLED = 20;

/** What a pod makes of a VIP: a hundred new connections a second, and some that stay. */
export class Connections {
  /** All so far, in the order in which they ended. */
  readonly attempts: Attempt[] = [];
  readonly #pod: Namespace;
  readonly #vip: string;
  readonly #stream: Process;

  /** Starts connections. Each times out after `timeout` milliseconds, all of them after `seconds`. */
  constructor(pod: Namespace, vip: string, seconds: number, timeout: number) {
    this.#pod = pod;
    this.#vip = vip;
    const limits = ["--rate", "100", "--for", String(seconds), "--timeout", String(timeout)];
    this.#stream = pod.spawn(request(...limits, `tcp://${vip}:80`));
    this.#stream.onLine((line) => {
      const attempt = parseAttempt(line);
      if (attempt !== undefined) this.attempts.push(attempt);
    });
  }

  /** Opens one that stays. */
  async hold(): Promise<Held> {
    const client = this.#pod.spawn(request("--hold", `http://${this.#vip}:80`));
    return new Held(client, await client.line(/"line":1\}/));
  }

  /**
   * Waits until the latest ones, begun since `from` of them had ended, all came to one place: a cluster, or `refused`.
   * `told`: what to say if they never do. Gives what went wrong with those since `from`.
   */
  async settled(
    wanted: string,
    from: number,
    told: () => string,
    patience = 10_000,
  ): Promise<string[]> {
    await eventually(() => {
      const places = this.attempts.slice(-SETTLED).map(placeOf);
      const enough = this.attempts.length >= from + SETTLED;
      if (enough && places.every((place) => place === wanted)) return;
      assert.fail(`not ${wanted}: ${places.join()}\n${told()}`);
    }, patience);
    return this.attempts.slice(from).flatMap(({ error }) => error ?? []);
  }

  /** Begins no new one; those under way come to their ends, so that one that hangs is in `attempts`, too. */
  async finish(): Promise<void> {
    await this.#stream.stop();
  }
}
