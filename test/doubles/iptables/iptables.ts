import type { Family } from "../../../api/address.ts";
import { checkCommit, checkRule } from "./commit-check.ts";
import { Refused, UnknownGrammar } from "./faults.ts";
import { parseRule } from "./parse-rule.ts";
import { TABLES, type TableName } from "./place.ts";
import { saveText } from "./save-text.ts";
import { Table } from "./table.ts";
import { Words, wordsOf } from "./words.ts";

/** How one run of iptables-restore ended. */
export interface RestoreResult {
  /** 0; 1 for what the tool refuses; 2 for what it cannot read; 4 for what the kernel refuses. */
  readonly exitCode: number;
  readonly stderr: string;
}

const EXIT_CODES = { syntax: 2, sanity: 1, kernel: 4 } as const;
const ACCEPTED: RestoreResult = { exitCode: 0, stderr: "" };

/**
 * iptables of one IP family without a kernel: what `iptables-restore --noflush` and `iptables-save` 1.8.9 do
 * to the tables nat and filter. test/kernel holds it to the real tools.
 */
export class FakeIptables {
  readonly family: Family;
  /** As in the kernel, a table is not there before its first transaction. */
  readonly #tables = new Map<TableName, Table>();

  constructor(family: Family) {
    this.family = family;
  }

  /**
   * `iptables-restore --noflush < text`; the sections before a bad one stay. Throws `UnknownGrammar` at lines that the fake does
   * not support.
   */
  restore(text: string): RestoreResult {
    let section: Section | undefined;
    for (const [i, line] of text.split("\n").entries()) {
      try {
        section = this.#read(line, section);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        const stderr = `Error occurred at line: ${i + 1}: ${error.message}\n`;
        return { exitCode: EXIT_CODES[error.stage], stderr };
      }
    }
    return section ? { exitCode: 1, stderr: "COMMIT expected\n" } : ACCEPTED;
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

  get tables(): { readonly nat: Table; readonly filter: Table } {
    return { nat: this.table("nat"), filter: this.table("filter") };
  }

  /** Reads one line in a section, if one is open; gives the section that is open after it. */
  #read(line: string, section: Section | undefined): Section | undefined {
    const text = line.replace(/[ \t]+$/, "");
    if (text === "" || text.startsWith("#")) return section;
    if (section === undefined) return this.#open(text);
    if (text !== "COMMIT") {
      section.line(text);
      return section;
    }
    if (section.fault) throw section.fault;
    checkCommit(section.draft);
    this.#tables.set(section.draft.table, section.draft);
    return undefined;
  }

  #open(text: string): Section {
    const name = TABLES.find((table) => `*${table}` === text);
    if (!name) throw new UnknownGrammar(`table ${text}`);
    return new Section(this.table(name));
  }
}

/** The lines between `*table` and `COMMIT`. */
class Section {
  readonly draft: Table;
  /** The first line that the kernel will reject; the tool reads on, and reports it at COMMIT. */
  fault: Refused | undefined;

  constructor(draft: Table) {
    this.draft = draft;
  }

  line(text: string): void {
    try {
      if (text.startsWith(":")) this.#declare(text.slice(1));
      else this.#command(new Words(wordsOf(text)), text);
    } catch (error) {
      if (!(error instanceof Refused) || error.stage !== "kernel") throw error;
      this.fault ??= error;
    }
  }

  #declare(text: string): void {
    const [, name = "", policy = ""] = /^(\S+) (\S+)(?: \[\d+:\d+\])?$/.exec(text) ?? [];
    if (name === "") throw new UnknownGrammar(`:${text}`);
    this.draft.declare(name, policy);
  }

  #command(words: Words, text: string): void {
    const verb = words.take();
    const chain = words.peek() === undefined ? undefined : words.take();
    if (verb === "-F") this.draft.flush(chain);
    else if (chain === undefined) throw new UnknownGrammar(text);
    else if (verb === "-X") this.draft.remove(chain);
    else if (verb === "-D") this.draft.deleteRule(chain, parseRule(words, this.draft));
    else if (verb === "-A" || verb === "-I") {
      const isNumbered = verb === "-I" && /^\d+$/.test(words.peek() ?? "");
      const position = isNumbered ? Number(words.take()) : 1;
      const rule = parseRule(words, this.draft);
      if (verb === "-A") this.draft.append(chain, rule);
      else this.draft.insert(chain, position, rule);
      checkRule(this.draft, chain, rule);
    }
    if (!/^-[ADFIX]$/.test(verb) || words.peek() !== undefined) throw new UnknownGrammar(text);
  }
}
