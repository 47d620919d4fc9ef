import type { VirtualService } from "../../plan/virtual-service.ts";
import type { Backend, Drift } from "../backend.ts";
import { serviceChain } from "./chain-name.ts";
import { check } from "./check.ts";
import { compare } from "./compare.ts";
import { diff, diffing, type IptablesTransaction } from "./diff.ts";
import { type Flavour, type Tools, toolsOf } from "./flavour.ts";
import { Judge, type ListChains } from "./judge.ts";
import { chainLister } from "./list.ts";
import { readBack, readServices } from "./read.ts";
import { RestoreProcess } from "./restore.ts";
import { IptablesRuleset, type RulesetOptions } from "./ruleset.ts";
import { countServices } from "./standing.ts";
import type { Believed, Changes } from "./tables.ts";

/** What an iptables backend needs to know. */
export interface IptablesOptions extends RulesetOptions {
  readonly flavour: Flavour;
  /** What the tools are started through; nothing, unless it is another network namespace's. */
  readonly within?: readonly string[];
  /** Descriptors that iptables-restore keeps open: the right to write outlives an agent that is killed. */
  readonly keep?: readonly number[];
  /** Called whenever iptables-restore had to be given up; the next transaction starts another. */
  readonly onRespawn: () => void;
}

/**
 * The iptables backend of one family.
 *
 * Ownership, for a process without memory: chains called `CSP-…` in nat and filter are ours, and so is every
 * rule elsewhere that leads to one. Nothing else is read for its meaning, or written.
 */
export class IptablesBackend implements Backend<Believed, Changes, IptablesTransaction> {
  readonly name = "iptables";
  readonly #options: IptablesOptions;
  readonly #tools: Tools;
  readonly #list: ListChains;
  readonly #judge: Judge;
  readonly #restore: RestoreProcess;

  constructor(options: IptablesOptions) {
    this.#options = options;
    this.#tools = toolsOf(options.flavour, options.family, options.within);
    this.#list = chainLister(options.flavour, this.#tools);
    this.#judge = new Judge(this.#list);
    this.#restore = new RestoreProcess(this.#tools.restore, options.onRespawn, options.keep);
  }

  ruleset(): IptablesRuleset {
    return new IptablesRuleset(this.#options);
  }

  diff(believed: Believed, changes: Changes): IptablesTransaction {
    return diff(believed, changes);
  }

  diffing(believed: Believed, changes: Changes): Generator<void, IptablesTransaction> {
    return diffing(believed, changes);
  }

  has(believed: Believed, service: VirtualService): boolean {
    return believed.chains.has(`nat ${serviceChain(service)}`);
  }

  count(believed: Believed): number {
    return countServices(believed);
  }

  standing(stop?: AbortSignal): Promise<readonly VirtualService[]> {
    return readServices(this.#tools, this.#list, this.#options.family, stop);
  }

  nothing(): Believed {
    return { chains: new Map(), jumps: [] };
  }

  async read(stop?: AbortSignal): Promise<Believed> {
    this.#restore.warm();
    const believed = await readBack(this.#tools, stop);
    return { ...believed, behind: await this.#judge.afresh(believed.jumps, stop) };
  }

  compare(before: Believed, found: Believed): Drift[] {
    return compare(before, found);
  }

  check(believed: Believed, stop?: AbortSignal): Promise<readonly Drift[]> {
    return check(believed, this.#list, this.#judge, stop);
  }

  async apply(tx: IptablesTransaction, believed: Believed): Promise<void> {
    await this.#restore.run(tx.pieces());
    tx.settle(believed);
  }

  close(): Promise<void> {
    return this.#restore.close();
  }
}
