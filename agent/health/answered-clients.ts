import type { Clock } from "../../common/clock.ts";
import type { Answered, Evidence } from "./evidence.ts";
import { ACCEPTED_MS } from "./health-rules.ts";
import { pairName } from "./verdict.ts";

/** What the kernel's set said at a moment. */
interface Snapshot {
  readonly found: readonly Answered[];
  readonly at: number;
}

const NONE: Snapshot = { found: [], at: Number.NEGATIVE_INFINITY };

/**
 * Clients that were answered: what the kernel's set says and, for two minutes after another program has deleted it, what it said before. A lone client would be a
 * stranger otherwise, and a death that follows such as `nft flush ruleset` would not be found where probes are blind.
 */
export class AnsweredClients {
  readonly #evidence: Pick<Evidence, "answered">;
  readonly #clock: Pick<Clock, "now">;
  #last = NONE;
  #lost = NONE;

  constructor(evidence: Pick<Evidence, "answered">, clock: Pick<Clock, "now">) {
    this.#evidence = evidence;
    this.#clock = clock;
  }

  /** The kernel's set was missing, and is empty now. */
  lost(): void {
    this.#lost = this.#last;
  }

  /** Rejects with a coded error. */
  async read(): Promise<readonly Answered[]> {
    const present = await this.#evidence.answered();
    const at = this.#clock.now();
    const passed = at - this.#lost.at;
    const pairs = new Set(passed < ACCEPTED_MS ? present.map(pairName) : []);
    const before = this.#lost.found.filter(
      (one) => one.age + passed < ACCEPTED_MS && !pairs.has(pairName(one)),
    );
    const aged = before.map((one) => ({ ...one, age: one.age + passed }));
    this.#last = { found: aged.length === 0 ? present : [...present, ...aged], at };
    return this.#last.found;
  }
}
