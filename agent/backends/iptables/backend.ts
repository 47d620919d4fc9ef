import type { NftCommits } from "../../system/nft-commits.ts";
import { type Backend, type Check, type Drift, type Programmed, UNCHANGED } from "../backend.ts";
import type { OpenOptions } from "../backend-kind.ts";
import { RestoreProcess } from "./apply.ts";
import { check } from "./check.ts";
import { diff, type IptablesTransaction } from "./diff.ts";
import { compare } from "./drift.ts";
import { type Flavour, type Tools, toolsOf } from "./flavour.ts";
import { JumpOrder } from "./jump-order.ts";
import { chainLister } from "./list.ts";
import { programmed } from "./programmed.ts";
import { readBack } from "./read.ts";
import { IptablesRuleset, type RulesetOptions } from "./ruleset.ts";
import type { Changes, KernelState } from "./state.ts";

/** Options of an iptables backend. */
export interface IptablesOptions extends RulesetOptions, Partial<OpenOptions> {
  readonly flavour: Flavour;
  /** The command that runs the tools in another network namespace; absent for this one. */
  readonly within?: readonly string[];
  /** Counts commits to this namespace's nftables; shared by both families. Absent: every check reads all rules. */
  readonly commits?: NftCommits;
}

/**
 * The iptables backend of one family.
 *
 * Ownership, without memory of an earlier run: chains in nat and filter whose names begin with `CSP-` are ours, and so is
 * every rule in another chain that jumps to one of them.
 */
export class IptablesBackend implements Backend<KernelState, Changes, IptablesTransaction> {
  readonly #options: IptablesOptions;
  readonly #tools: Tools;
  readonly #order: JumpOrder;
  readonly #restore: RestoreProcess;
  /** What other programs had committed when the last check found no drift. */
  #checkedAt: string | undefined;

  constructor(options: IptablesOptions) {
    this.#options = options;
    this.#tools = toolsOf(options.flavour, options.family, options.within);
    this.#order = new JumpOrder(chainLister(options.flavour, this.#tools));
    this.#restore = new RestoreProcess(this.#tools.restore, options.onRespawn, options.keep);
  }

  ruleset(): IptablesRuleset {
    return new IptablesRuleset(this.#options);
  }

  empty(): KernelState {
    return { chains: new Map(), jumps: [] };
  }

  programmed(state: KernelState): Programmed {
    return programmed(state);
  }

  /** Chains of ours have names of our own: no foreign object can be in their place. */
  conflicts(): readonly [] {
    return [];
  }

  diff(state: KernelState, changes: Changes): Generator<void, IptablesTransaction> {
    return diff(state, changes);
  }

  compare(before: KernelState, found: KernelState): Drift[] {
    return compare(before, found);
  }

  async read(stop?: AbortSignal): Promise<KernelState> {
    this.#restore.warm();
    const { state, bases } = await readBack(this.#tools, stop, new Map());
    return { ...state, behind: await this.#order.afresh(state.jumps, bases, stop) };
  }

  /** Compares all rules; with nft only if another program has committed anything since they were last as they should be. */
  async check(state: KernelState, stop?: AbortSignal): Promise<Check<IptablesTransaction>> {
    const { commits } = this.#options;
    const others = await commits?.ofOthers();
    if (others !== undefined && others === this.#checkedAt) return UNCHANGED;
    const drift = await check(state, await readBack(this.#tools, stop), this.#order, stop);
    this.#checkedAt = drift.length === 0 ? others : undefined;
    return { drift, garbage: undefined, reading: others === undefined ? "routine" : "prompted" };
  }

  async apply(tx: IptablesTransaction, state: KernelState): Promise<void> {
    const run = async () => {
      await this.#restore.run(tx.pieces());
      return tx.commits;
    };
    const { commits } = this.#options;
    await (commits === undefined ? run() : commits.run(run));
    tx.settle(state);
  }

  close(): Promise<void> {
    return this.#restore.close();
  }
}
