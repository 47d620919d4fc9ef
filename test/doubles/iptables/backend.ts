import type { Drift } from "../../../agent/backends/backend.ts";
import { check } from "../../../agent/backends/iptables/backend.ts";
import type { IptablesTransaction } from "../../../agent/backends/iptables/diff.ts";
import { JumpOrder, type ListChains } from "../../../agent/backends/iptables/jump-order.ts";
import { SaveParser } from "../../../agent/backends/iptables/parse.ts";
import {
  BASES,
  type Found,
  type KernelState,
  TABLES,
  tableOf,
} from "../../../agent/backends/iptables/state.ts";
import type { Family } from "../../../api/address.ts";
import { FakeIptables } from "./iptables.ts";

/** The iptables backend over a fake kernel: all of it but the processes. */
export class FakeIptablesBackend {
  readonly kernel: FakeIptables;
  readonly #list: ListChains;
  readonly #order: JumpOrder;

  constructor(family: Family) {
    this.kernel = new FakeIptables(family);
    this.#list = listerOf(this.kernel);
    this.#order = new JumpOrder(this.#list);
  }

  async read(): Promise<KernelState> {
    const { state, bases } = await this.#found();
    return { ...state, behind: await this.#order.afresh(state.jumps, bases) };
  }

  async check(state: KernelState): Promise<readonly Drift[]> {
    return check(state, await this.#found(), this.#order);
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
