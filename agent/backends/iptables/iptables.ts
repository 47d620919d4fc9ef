import { execLines } from "../../system/exec.ts";
import type { Backend } from "../backend.ts";
import { diff, type IptablesTransaction, removal } from "./diff.ts";
import { type Flavour, toolsOf } from "./flavour.ts";
import { SaveParser } from "./parse.ts";
import { RestoreProcess } from "./restore.ts";
import { IptablesRuleset, type RulesetOptions } from "./ruleset.ts";
import { type Believed, type Changes, TABLES } from "./tables.ts";

/** What an iptables backend needs to know. */
export interface IptablesOptions extends RulesetOptions {
  readonly flavour: Flavour;
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
  readonly #restore: RestoreProcess;

  constructor(options: IptablesOptions) {
    this.#options = options;
    const tools = toolsOf(options.flavour, options.family);
    this.#restore = new RestoreProcess(tools.restore, options.onRespawn);
  }

  ruleset(): IptablesRuleset {
    return new IptablesRuleset(this.#options);
  }

  diff(believed: Believed, changes: Changes): IptablesTransaction {
    return diff(believed, changes);
  }

  read(): Promise<Believed> {
    this.#restore.warm();
    return readBelieved(this.#options.flavour, this.#options.family);
  }

  async apply(tx: IptablesTransaction, believed: Believed): Promise<void> {
    await this.#restore.run(tx.toString());
    tx.settle(believed);
  }

  async remove(): Promise<void> {
    const text = removal(await this.read());
    if (text !== "") await this.#restore.run(text);
  }

  close(): Promise<void> {
    return this.#restore.close();
  }
}

/** Reads back all of ours in one flavour and family. Rejects as `exec` does. */
export async function readBelieved(
  flavour: Flavour,
  family: RulesetOptions["family"],
): Promise<Believed> {
  const believed: Believed = { chains: new Map(), jumps: [] };
  for (const table of TABLES) {
    const parser = new SaveParser(table);
    await execLines([toolsOf(flavour, family).save, "-t", table], (line) => parser.line(line));
    parser.into(believed);
  }
  return believed;
}
