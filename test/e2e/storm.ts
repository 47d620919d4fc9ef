import assert from "node:assert/strict";
import { eventually } from "../support/agent-process.ts";
import { Caller, type CallerOptions } from "./caller.ts";
import type { Clusterset } from "./clusterset.ts";

/** How many calls each of them makes at least while something happens, however soon that is over. */
const ENOUGH = 20;

/** How long the last of them may take to end. */
const PATIENCE_MS = 30_000;

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
    const callers = await Promise.all(all.map((options) => Caller.start(set, options)));
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
    const failed = all.flatMap((calls, i) =>
      calls
        .filter(({ error }) => error !== undefined)
        .map(
          ({ at, error, ms }) => `${this.#names[i]}: ${error} at ${at - from} ms, after ${ms} ms`,
        ),
    );
    const said = `${failed.length} of ${all.flat().length} calls failed\n${failed.slice(0, 20).join("\n")}`;
    assert.equal(failed.length, 0, said);
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await Promise.all(this.#callers.map((caller) => caller.stop()));
  }

  #since(at: number) {
    return Promise.all(this.#callers.map((caller) => caller.callsSince(at)));
  }
}

/** Milliseconds of CLOCK_MONOTONIC, as callers have them. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
