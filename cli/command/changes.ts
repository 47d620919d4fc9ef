import type { Cluster } from "../clusters/cluster.ts";
import { documentText, type Output } from "../output/document.ts";
import { type Printable, printable } from "../output/printable.ts";
import { sentence } from "../output/table.ts";
import type { Terminal } from "../terminal.ts";

/** What a command did, or would do, to an object. */
export interface Change {
  readonly context: string;
  /** Such as `namespace/clusterset-proxy`. */
  readonly object: string;
  readonly action: string;
  readonly detail?: string;
}

/** The changes of a command: as sentences while they happen, or as a document at its end, with the sentences on standard error. */
export class Changes {
  /** Of the command: what it prints besides goes to standard error if standard output is a document. */
  readonly terminal: Terminal;
  readonly #end: (changes: readonly Change[]) => void;
  readonly #changes: Change[] = [];

  constructor(terminal: Terminal, output: Output) {
    if (output === "table") {
      this.terminal = terminal;
      this.#end = () => undefined;
    } else {
      this.terminal = { ...terminal, out: terminal.note };
      this.#end = (changes) => terminal.out(documentText({ changes }, output));
    }
  }

  /** Notes a change, and prints it. */
  readonly done = ({ context }: Pick<Cluster, "context">, object: string, action: string): void => {
    this.#changes.push({ context, object, action });
    this.terminal.out(printable`${sentence(`${context}: ${object} ${action}`, this.terminal)}\n`);
  };

  /** Notes changes that were printed in another way. */
  add(changes: Iterable<Change>): void {
    this.#changes.push(...changes);
  }

  /** Prints the document, if there is one; also of a command that failed half-way. */
  async during<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } finally {
      this.#end(this.#changes);
    }
  }
}

/** Asks whether to continue; false if the answer is not yes, or nobody can answer, which is then said. */
export async function isConfirmed(
  { ask, note }: Terminal,
  question: Printable,
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes === true) return true;
  const answer = await ask(printable`${question} [y/N] `);
  if (answer === undefined)
    note(printable`Standard input is not a terminal: confirm with --yes.\n`);
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}
