import { checkCommit, checkRule } from "./commit-check.ts";
import { Refused, UnknownGrammar } from "./faults.ts";
import { parseRule } from "./parse-rule.ts";
import { TABLES, type TableName } from "./place.ts";
import type { Table } from "./table.ts";
import { Words, wordsOf } from "./words.ts";

/** What a session works on: tables as they are now, and the one way to change them. */
export interface SessionKernel {
  /** A copy of the table as it is now, to work on. */
  begin(name: TableName): Table;
  /** Makes a checked draft the truth; may refuse. */
  commit(draft: Table, changes: Changes): void;
}

/** Lines of one transaction by what they do. */
export interface Changes {
  /** Chains declared, rules added. */
  readonly writes: number;
  /** Rules and chains deleted, chains flushed. */
  readonly deletes: number;
}

/** One run of `iptables-restore --noflush`, fed line by line; the sections before a bad one stay. */
export class RestoreSession {
  readonly #kernel: SessionKernel;
  #section: Section | undefined;
  /** Lines read so far; after a `Refused`, the number of the bad one. */
  lines = 0;

  constructor(kernel: SessionKernel) {
    this.#kernel = kernel;
  }

  /** Reads one line, without its newline. Throws `Refused`; then the session is over. */
  line(line: string): void {
    this.lines++;
    const text = line.replace(/[ \t]+$/, "");
    if (text === "" || text.startsWith("#")) return;
    if (!this.#section) {
      this.#open(text);
    } else if (text === "COMMIT" && line === text) {
      const { draft, fault, writes, deletes } = this.#section;
      this.#section = undefined;
      if (fault) throw fault;
      checkCommit(draft);
      this.#kernel.commit(draft, { writes, deletes });
    } else {
      this.#section.line(text);
    }
  }

  /** End of the input; refuses a section without COMMIT. */
  end(): void {
    if (this.#section) throw new Refused("sanity", "COMMIT expected");
  }

  #open(text: string): void {
    if (!text.startsWith("*")) throw new Refused("sanity", `${text} outside a table`);
    const name = TABLES.find((table) => `*${table}` === text);
    if (!name) throw new UnknownGrammar(`table ${text}`);
    this.#section = new Section(this.#kernel.begin(name));
  }
}

/** The lines between `*table` and `COMMIT`. */
class Section {
  readonly draft: Table;
  writes = 0;
  deletes = 0;
  /** The first line that the kernel will reject; the tool reads on, and reports it at COMMIT. */
  fault: Refused | undefined;

  constructor(draft: Table) {
    this.draft = draft;
  }

  line(text: string): void {
    try {
      if (text.startsWith(":")) this.#declare(text.slice(1));
      else this.#command(wordsOf(text));
    } catch (error) {
      if (!(error instanceof Refused) || error.stage !== "kernel") throw error;
      this.fault ??= error;
    }
  }

  #declare(text: string): void {
    const [name, policy, counters, ...rest] = wordsOf(text);
    if (name === undefined || policy === undefined) throw new Refused("syntax", "policy invalid");
    if (rest.length > 0 || !/^(\[\d+:\d+\])?$/.test(counters ?? ""))
      throw new UnknownGrammar(`:${text}`);
    this.draft.declare(name, policy);
    this.writes++;
  }

  #command(command: readonly string[]): void {
    const words = new Words(command);
    const verb = words.take("command");
    if (!/^-[ADFINX]$/.test(verb)) {
      if (!/^[-[]/.test(verb)) throw new Refused("syntax", `Bad argument \`${verb}'`);
      throw new UnknownGrammar(`command ${command.join(" ")}`);
    }
    if (verb === "-F" && words.peek() === undefined) {
      this.draft.flush();
      this.deletes++;
      return;
    }
    if (verb === "-X" && words.peek() === undefined) throw new UnknownGrammar("-X without a chain");
    const chain = words.take(verb);
    if (verb === "-A" || verb === "-I") {
      const position =
        verb === "-I" && /^\d+$/.test(words.peek() ?? "") ? Number(words.take(verb)) : 1;
      const rule = parseRule(words, this.draft);
      if (verb === "-A") this.draft.append(chain, rule);
      else this.draft.insert(chain, position, rule);
      this.writes++;
      checkRule(this.draft, chain, rule);
      return;
    }
    if (verb === "-D" && !/^\d+$/.test(words.peek() ?? "")) {
      this.draft.deleteRule(chain, parseRule(words, this.draft));
      this.deletes++;
      return;
    }
    const position = verb === "-D" ? Number(words.take(verb)) : 0;
    const extra = words.peek();
    if (extra !== undefined) throw new Refused("syntax", `Bad argument \`${extra}'`);
    if (verb === "-N") {
      this.draft.create(chain);
      this.writes++;
      return;
    }
    if (verb === "-D") this.draft.deleteAt(chain, position);
    else if (verb === "-F") this.draft.flush(chain);
    else this.draft.remove(chain);
    this.deletes++;
  }
}
