import type { Family } from "../../../api/address.ts";
import { Refused } from "./faults.ts";
import { TABLES, type TableName } from "./place.ts";
import { type Changes, RestoreSession, type SessionKernel } from "./restore-session.ts";
import { saveText } from "./save-text.ts";
import { Table } from "./table.ts";

/** How one run of iptables-restore ended. */
export interface RestoreResult {
  /** 0; 1 for what the tool refuses; 2 for what it cannot read; 4 for what the kernel refuses; 137 when killed. */
  readonly exitCode: number;
  readonly stderr: string;
}

/** What the fake should do wrong. */
export interface Faults {
  /** How many of the next COMMITs fail for no reason of their own. */
  failNext: number;
  /** The share of COMMITs that fail for no reason of their own, by `random`. */
  failProbability: number;
  /** The next run is killed after reading so many of its lines, 0 to 1. */
  killAfterShare: number | undefined;
  /** Runs once, before the next `*table` is read: another program's turn. */
  beforeNextSection: (() => void) | undefined;
}

/**
 * iptables of one IP family without a kernel: what `iptables-restore --noflush` and `iptables-save` 1.8.9 do
 * to the tables nat and filter. test/kernel holds it to the real tools.
 */
export class FakeIptables implements SessionKernel {
  readonly family: Family;
  readonly faults: Faults = {
    failNext: 0,
    failProbability: 0,
    killAfterShare: undefined,
    beforeNextSection: undefined,
  };
  /** Transactions (`*table…COMMIT`) that were accepted, and runs that ended in a refusal. */
  commits = 0;
  refusals = 0;
  /** Lines that took effect: chains declared and rules added; rules, chains and contents deleted. */
  writes = 0;
  deletes = 0;
  /** As in the kernel, a table is not there before its first transaction. */
  readonly #tables = new Map<TableName, Table>();
  readonly #random: () => number;

  /** `random`: numbers from 0 to below 1, for `faults.failProbability`. */
  constructor(family: Family, random: () => number = () => 1) {
    this.family = family;
    this.#random = random;
  }

  /** `iptables-restore --noflush < text`. Throws `UnknownGrammar` at lines that the fake does not support. */
  restore(text: string): RestoreResult {
    const session = this.open();
    const share = this.faults.killAfterShare;
    this.faults.killAfterShare = undefined;
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    const kill = share === undefined ? undefined : Math.floor(share * (lines.length + 1));
    try {
      for (const line of lines) {
        if (session.lines === kill) return { exitCode: 137, stderr: "" };
        session.line(line);
      }
      if (session.lines === kill) return { exitCode: 137, stderr: "" };
      session.end();
      return { exitCode: 0, stderr: "" };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return this.refusal(error, session.lines);
    }
  }

  /** A run that is fed line by line, as a long-lived one is. */
  open(): RestoreSession {
    return new RestoreSession(this);
  }

  /** `iptables-save`, or `iptables-save -t name`; nothing for a table that was never written. */
  save(name?: TableName): string {
    const names = name === undefined ? TABLES : [name];
    return names
      .map((each) => this.#tables.get(each))
      .map((table) => (table ? saveText(table) : ""))
      .join("");
  }

  /** The table as it is; a copy, safe to keep. */
  table(name: TableName): Table {
    return this.#tables.get(name)?.copy() ?? new Table(this.family, name);
  }

  /** Counts a refusal; the words and the exit code with which the nft flavour of the tool ends at `line`. */
  refusal(error: Refused, line: number): RestoreResult {
    const tool = this.family === "IPv4" ? "iptables-restore" : "ip6tables-restore";
    const versioned = `${tool} v1.8.9 (nf_tables): `;
    this.refusals++;
    switch (error.stage) {
      case "syntax":
        return {
          exitCode: 2,
          stderr: `${versioned}${error.message}\nError occurred at line: ${line}\n`,
        };
      case "sanity":
        return { exitCode: 1, stderr: `${tool}: line ${line} failed: ${error.message}.\n` };
      case "kernel":
        return { exitCode: 4, stderr: `${versioned}\nline ${line}: ${error.message}\n` };
    }
  }

  begin(name: TableName): Table {
    const interfere = this.faults.beforeNextSection;
    this.faults.beforeNextSection = undefined;
    interfere?.();
    return this.table(name);
  }

  commit(draft: Table, changes: Changes): void {
    if (this.faults.failNext > 0 || this.#random() < this.faults.failProbability) {
      this.faults.failNext = Math.max(0, this.faults.failNext - 1);
      throw new Refused("kernel", "Resource temporarily unavailable");
    }
    this.#tables.set(draft.table, draft);
    this.commits++;
    this.writes += changes.writes;
    this.deletes += changes.deletes;
  }
}
