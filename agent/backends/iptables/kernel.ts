import type { NftCommits } from "../../system/nft-commits.ts";
import type { OpenOptions } from "../backend-kind.ts";
import type { Dataplane, Found, ReadScope } from "../dataplane.ts";
import type { Held } from "../objects.ts";
import { RestoreProcess } from "./apply.ts";
import type { IptablesCommands } from "./commands.ts";
import { type Flavour, type Tools, toolsOf } from "./flavour.ts";
import { JumpOrder, type ListChains } from "./jump-order.ts";
import { IptablesLayout } from "./layout.ts";
import { chainLister } from "./list.ts";
import { foundOf, jumpsIn } from "./listing.ts";
import { BASES, isJump } from "./object-id.ts";
import { readBack } from "./read.ts";
import type { RulesOptions } from "./rendering.ts";
import type { Rules } from "./rules.ts";

/** Options of the iptables of one family. */
export interface IptablesOptions extends RulesOptions, Partial<OpenOptions> {
  readonly flavour: Flavour;
  /** The command that runs the tools in another network namespace; absent for this one. */
  readonly within?: readonly string[];
  /** Counts commits to this namespace's nftables; shared by both families. Absent: every check reads all rules. */
  readonly commits?: NftCommits;
}

/**
 * iptables, for one family.
 *
 * Ownership, without memory of an earlier run: chains in nat and filter whose names begin with `CSP-` are ours, and so is
 * every rule in another chain that jumps to one of them.
 */
export class Iptables implements Dataplane<Rules, IptablesCommands> {
  readonly layout: IptablesLayout;
  readonly #commits: NftCommits | undefined;
  readonly #tools: Tools;
  readonly #list: ListChains;
  readonly #order: JumpOrder;
  readonly #restore: RestoreProcess;

  constructor(options: IptablesOptions) {
    this.layout = new IptablesLayout(options);
    this.#commits = options.commits;
    this.#tools = toolsOf(options.flavour, options.family, options.within);
    this.#list = chainLister(options.flavour, this.#tools);
    this.#order = new JumpOrder(this.#list);
    this.#restore = new RestoreProcess(this.#tools.restore, options.onRespawn, options.keep);
  }

  /**
   * Finds also the rules before our jumps that take their packets, but for what is `gone`: a program that flushes or replaces a table deletes our jumps, and
   * listing built-in chains is fast.
   */
  async read(scope: ReadScope, _held: Held, stop?: AbortSignal): Promise<Found> {
    if (scope === "gone") {
      const bases = await this.#list(BASES, () => true, stop);
      return foundOf(jumpsIn(bases), bases);
    }
    const isStart = scope === "believed";
    if (isStart) this.#restore.warm();
    const { held, bases } = await readBack(this.#tools, stop, isStart);
    const behind = await this.#order.evaluate([...held.keys()].filter(isJump), bases, stop);
    return foundOf(held, bases, behind);
  }

  async write(commands: IptablesCommands): Promise<ReadonlySet<string>> {
    const run = async () => {
      await this.#restore.run(commands.pieces());
      return commands.commits;
    };
    await (this.#commits === undefined ? run() : this.#commits.run(run));
    return new Set();
  }

  async changes(): Promise<string | undefined> {
    return this.#commits?.ofOthers();
  }

  close(): Promise<void> {
    return this.#restore.close();
  }
}
