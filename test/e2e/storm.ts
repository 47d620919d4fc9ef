import assert from "node:assert/strict";
import { now } from "../connections/attempt.ts";
import { eventually } from "../stages/agent-process.ts";
import { type Call, Caller, type CallerOptions } from "./caller.ts";
import type { Clusterset } from "./clusterset.ts";

/** How many calls each of them makes at least while something happens, however soon that is over. */
const ENOUGH = 5;

/** How long the last of them may take to end. */
const PATIENCE_MS = 30_000;

/** The limit of a call: longer than any successful call on a busy machine. */
const TIMEOUT_MS = 10_000;

/** Lines of a message. */
const SHOWN = 20;

/** Pods that call all the time, from wherever they are. */
export class Storm {
  readonly #callers: readonly Caller[];
  readonly #names: readonly string[];

  private constructor(callers: readonly Caller[], names: readonly string[]) {
    this.#callers = callers;
    this.#names = names;
  }

  /** Returns when all their pods run and have been answered. */
  static async start(
    set: Pick<Clusterset, "clusters">,
    all: readonly CallerOptions[],
  ): Promise<Storm> {
    const callers = await Promise.all(
      all.map((options) => Caller.start(set, { timeoutMs: TIMEOUT_MS, ...options })),
    );
    const names = all.map(({ cluster, name }) => `${cluster} ${name}`);
    const storm = new Storm(callers, names);
    await eventually(async () => {
      for (const calls of await storm.#since(0)) assert.ok(calls.some(({ name }) => name));
    }, PATIENCE_MS);
    return storm;
  }

  /** Asserts that no call fails that begins while this happens, nor shortly after. */
  async survives(happening: () => Promise<void>): Promise<void> {
    const from = now();
    await happening();
    const over = now();
    const all = await eventually(async () => {
      const since = await this.#since(from);
      for (const calls of since) {
        assert.ok(calls.filter(({ at }) => at > over).length >= ENOUGH, "too few calls");
      }
      return since;
    }, PATIENCE_MS);
    this.#assertNoneFailed(all, from);
  }

  /** Asserts that the pods continue to call, and get responses. */
  async goesOn(): Promise<void> {
    await this.survives(() => Promise.resolve());
  }

  /** Ends all calls, and asserts that none has failed. Gives how many there were, and how long the slowest took: a lost SYN costs a second. */
  async end(): Promise<string> {
    const all = await Promise.all(this.#callers.map((caller) => caller.stop()));
    this.#assertNoneFailed(all, 0);
    const slowest = Math.max(...all.flat().map(({ ms }) => ms));
    return `${all.flat().length} calls, the slowest ${Math.round(slowest)} ms`;
  }

  #assertNoneFailed(all: readonly (readonly Call[])[], from: number): void {
    const failed = all.flatMap((calls, i) =>
      calls
        .filter(({ error }) => error !== undefined)
        .map(({ at, error, ms }) => `${this.#names[i]}: ${error} at ${at - from}, after ${ms} ms`),
    );
    const lines = [`${failed.length} of ${all.flat().length} calls failed`, ...failed];
    assert.equal(failed.length, 0, lines.slice(0, SHOWN).join("\n"));
  }

  #since(at: number) {
    return Promise.all(this.#callers.map((caller) => caller.callsSince(at)));
  }
}
