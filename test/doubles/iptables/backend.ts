import type { Backend, Check, Drift, Programmed } from "../../../agent/backends/backend.ts";
import { check, compare, programmed } from "../../../agent/backends/iptables/backend.ts";
import { diff, type IptablesTransaction } from "../../../agent/backends/iptables/diff.ts";
import { JumpOrder, type ListChains } from "../../../agent/backends/iptables/jump-order.ts";
import { SaveParser } from "../../../agent/backends/iptables/parse.ts";
import { IptablesRuleset, type RulesetOptions } from "../../../agent/backends/iptables/ruleset.ts";
import {
  BASES,
  type Changes,
  type Found,
  type KernelState,
  TABLES,
  tableOf,
} from "../../../agent/backends/iptables/state.ts";
import { FakeIptables } from "./iptables.ts";

/** The iptables backend over a fake kernel: all of it but the processes. */
export class FakeIptablesBackend implements Backend<KernelState, Changes, IptablesTransaction> {
  readonly kernel: FakeIptables;
  readonly #options: RulesetOptions;
  readonly #list: ListChains;
  readonly #order: JumpOrder;

  constructor(options: RulesetOptions, kernel = new FakeIptables(options.family)) {
    this.#options = options;
    this.kernel = kernel;
    this.#list = listerOf(kernel);
    this.#order = new JumpOrder(this.#list);
  }

  ruleset(): IptablesRuleset {
    return new IptablesRuleset(this.#options);
  }

  diff(state: KernelState, changes: Changes): Generator<void, IptablesTransaction> {
    return diff(state, changes);
  }

  programmed(state: KernelState): Programmed {
    return programmed(state);
  }

  conflicts(): readonly [] {
    return [];
  }

  empty(): KernelState {
    return { chains: new Map(), jumps: [] };
  }

  async read(): Promise<KernelState> {
    const { state, bases } = await this.#found();
    return { ...state, behind: await this.#order.afresh(state.jumps, bases) };
  }

  compare(before: KernelState, found: KernelState): Drift[] {
    return compare(before, found);
  }

  async check(state: KernelState): Promise<Check<IptablesTransaction>> {
    const drift = await check(state, await this.#found(), this.#order);
    return { drift, garbage: undefined, reading: "routine" };
  }

  async apply(tx: IptablesTransaction, state: KernelState): Promise<void> {
    const { exitCode, stderr } = this.kernel.restore(tx.toString());
    if (exitCode !== 0) throw new Error(`exit status ${exitCode}: ${stderr}`);
    tx.settle(state);
  }

  async #found(): Promise<Found> {
    const bases = await this.#list(BASES, () => true, undefined);
    return { state: stateOf(this.kernel), bases };
  }

  async close(): Promise<void> {
    // There is no process to end.
  }
}

/** What the agent reads back from a fake kernel. */
export function stateOf(kernel: FakeIptables): KernelState {
  const state: KernelState = { chains: new Map(), jumps: [] };
  for (const table of TABLES) {
    const parser = new SaveParser(table, state);
    for (const line of kernel.save(table).split("\n")) parser.line(line);
    parser.end();
  }
  return state;
}

/** Lists chains of a fake kernel. */
function listerOf(kernel: FakeIptables): ListChains {
  return async (keys, keep) =>
    new Map(
      keys.map((key) => {
        const [name, chain] = tableOf(key);
        const table = kernel.table(name);
        if (!table.hasChain(chain)) return [key, undefined];
        const lines = table.chain(chain).rules.map(({ text }) => `-A ${chain} ${text}`.trimEnd());
        return [key, lines.filter(keep)];
      }),
    );
}
