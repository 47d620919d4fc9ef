import { NftCommits } from "../../system/nft-commits.ts";
import { NftProcess } from "../../system/nft-process.ts";
import { type Backend, type Check, type Drift, type Programmed, UNCHANGED } from "../backend.ts";
import type { OpenOptions } from "../backend-kind.ts";
import { removeGarbage, runTransaction } from "./apply.ts";
import { diff } from "./diff.ts";
import { compare } from "./drift.ts";
import { programmed } from "./programmed.ts";
import { readBack } from "./read.ts";
import { NftablesRuleset } from "./ruleset.ts";
import type { SkeletonOptions } from "./skeleton.ts";
import { type Changes, type KernelState, nothing } from "./state.ts";
import type { NftablesTransaction } from "./transaction.ts";

/** Options of an nftables backend. */
export interface NftablesOptions extends SkeletonOptions, Partial<OpenOptions> {
  /** Counts commits to this namespace's nftables; shared by both families. */
  readonly commits?: NftCommits;
}

/** The nftables backend of one family. Ownership, without memory of an earlier run: everything in the table `clusterset-proxy` is ours. */
export class NftablesBackend implements Backend<KernelState, Changes, NftablesTransaction> {
  readonly #options: NftablesOptions;
  readonly #nft: NftProcess;
  /** Transactions begun. */
  #applied = 0;
  readonly #commits: NftCommits;
  /** What other programs had committed when the last check found no drift. */
  #checkedAt: string | undefined;
  /** Whether endpoints are what the digests of their services say: until something was applied, or a check has read them. */
  #believes = true;
  /** What a check that found drift has read, as long as nothing was committed since: the repair reads the same. */
  #found: { readonly others: string; readonly state: KernelState } | undefined;

  constructor(options: NftablesOptions) {
    this.#options = options;
    this.#nft = new NftProcess(options);
    this.#commits = options.commits ?? new NftCommits();
  }

  ruleset(): NftablesRuleset {
    return new NftablesRuleset();
  }

  empty(): KernelState {
    return nothing();
  }

  programmed(state: KernelState): Programmed {
    return programmed(state);
  }

  /** The table is ours: no foreign object can be in the place of an element. */
  conflicts(): readonly [] {
    return [];
  }

  diff(state: KernelState, changes: Changes): Generator<void, NftablesTransaction> {
    return diff(state, changes, this.#options);
  }

  compare(before: KernelState, found: KernelState): Drift[] {
    return compare(before, found, this.#options.family);
  }

  /** Without the endpoints at a start: a hundred thousand would take more than a second. The first check reads them. */
  async read(stop?: AbortSignal): Promise<KernelState> {
    const found = this.#found;
    this.#found = undefined;
    if (found !== undefined && found.others === (await this.#commits.ofOthers()))
      return found.state;
    return readBack(this.#options.family, this.#believes ? "believed" : "read", stop);
  }

  /** Compares everything if another program has committed anything since it was last as it should be. */
  async check(state: KernelState, stop?: AbortSignal): Promise<Check<NftablesTransaction>> {
    const others = await this.#commits.ofOthers();
    if (others !== undefined && others === this.#checkedAt) return UNCHANGED;
    const { family } = this.#options;
    const applied = this.#applied;
    this.#believes = false;
    const found = await readBack(family, "read", stop);
    const drift = compare(state, found, family);
    const isSame = drift.length === 0;
    this.#checkedAt = isSame ? others : undefined;
    if (!isSame && others !== undefined && applied === this.#applied)
      this.#found = { others, state: found };
    return { drift, garbage: undefined, reading: others === undefined ? "routine" : "prompted" };
  }

  async apply(tx: NftablesTransaction, state: KernelState): Promise<void> {
    this.#applied++;
    this.#believes = false;
    this.#found = undefined;
    await runTransaction(this.#options.family, tx, this.#nft, this.#commits);
    tx.settle(state);
    if (await removeGarbage(tx, this.#nft, this.#commits)) tx.settleGarbage(state);
  }

  close(): Promise<void> {
    return this.#nft.close();
  }
}
