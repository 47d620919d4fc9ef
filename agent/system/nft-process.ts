import { deadline, systemClock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import { PersistentProcess } from "./persistent-process.ts";
import type { Argv } from "./program-result.ts";
import { execLines } from "./run-program.ts";
import type { Ending } from "./start-program.ts";
import { ToolTimeout } from "./tool-timeout.ts";

/** Options of an `NftProcess`. */
export interface NftProcessOptions {
  /** nft, behind programs that start it. */
  readonly program?: Argv;
  /** Descriptors that it holds open until it ends. */
  readonly keep?: readonly number[];
  /** Called when a process has failed; the next transaction starts another. */
  readonly onRespawn?: () => void;
  /** Milliseconds for one transaction; more after one that took longer (`ToolTimeout`). */
  readonly timeout?: number;
}

const TIMEOUT = 30_000;
/** Characters from which a transaction runs in a process of its own: nft reads long lines slowly and keeps them as history. */
const LONG = 50_000;
/** Characters after which a process is replaced, because it keeps each line as history. */
const ENOUGH = 2_000_000;
/** Not a command: the first line of each process, to learn the form of its errors. */
const BEGIN = "end-of-0";

/**
 * One long-lived `nft -i`. A process per transaction would wait 10 to 30 ms at its end, until the kernel has freed deleted
 * objects.
 *
 * Each line is a transaction; semicolons separate commands. nft prints errors and commits nothing of that line; it prints
 * nothing on success. So each transaction is followed by a line that is not a command: its error marks the end of the
 * transaction, and anything printed before is an error of the transaction. Standard output is discarded, because some
 * builds echo their input. HOME is set to a missing directory, so that no history file is written.
 */
export class NftProcess {
  readonly #program: Argv;
  readonly #timeout: ToolTimeout;
  readonly #process: PersistentProcess;
  #count = 0;
  /** Characters written to the process that runs. */
  #written = 0;
  /** The transaction under way: its last line, and the output so far. */
  #pending: { readonly end: string; readonly output: string[] } | undefined;
  /** Lines that this nft prints for an unknown command before the command itself. */
  #errorLines = 0;
  /** Whether this nft is built with `-i`; unknown until one has answered or ended. */
  #interactive: "yes" | "no" | "unknown" = "unknown";

  constructor(options: NftProcessOptions = {}) {
    const { program = ["nft"], keep = [], onRespawn = () => undefined } = options;
    this.#program = program;
    this.#timeout = new ToolTimeout(options.timeout ?? TIMEOUT);
    const script = 'export HOME=/nonexistent; exec "$@" 2>&1 >/dev/null';
    this.#process = new PersistentProcess({
      argv: ["sh", "-c", script, "sh", ...program, "-i"],
      keep,
      onStart: () => this.#onStart(),
      onLine: (line) => this.#onLine(line),
      errorOf: (ending) => this.#errorOf(ending),
      onRespawn,
    });
  }

  /**
   * Runs one transaction; the caller waits before the next. Rejects with CSP_EXEC_MISSING, CSP_EXEC_STARVED, CSP_EXEC_TIMEOUT, or
   * CSP_EXEC_FAILED with nft's error: then nothing is committed, unless the process was killed.
   */
  async run(text: string): Promise<void> {
    if (text.length > LONG || !this.#mayStay) return this.#spawn(text);
    if (this.#written > ENOUGH) await this.close();
    const end = `end-of-${++this.#count}`;
    const answered = this.#process.begin();
    this.#pending = { end, output: [] };
    const call = this.#timeout.begin();
    const cancel = deadline(systemClock, call.ms, () => {
      call.expired(this.#process.cpuTime);
      const message = `${this.#program.join(" ")} -i: no answer in time`;
      void this.#process.kill(new CodedError("CSP_EXEC_TIMEOUT", message));
    });
    this.#written += text.length;
    this.#process.write(`${text.replaceAll("\n", ";")}\n${end}\n`);
    try {
      await answered;
      call.ended();
    } catch (error) {
      if (this.#mayStay) throw error;
      await this.#spawn(text);
    } finally {
      call.failed();
      cancel();
      this.#pending = undefined;
    }
  }

  /** Ends the process; committed rules stay. */
  close(): Promise<void> {
    return this.#process.close();
  }

  get #mayStay(): boolean {
    return this.#interactive !== "no";
  }

  #spawn(input: string): Promise<void> {
    const [program, ...args] = this.#program;
    return execLines([program, ...args, "-f", "-"], () => undefined, { input });
  }

  #onStart(): void {
    this.#written = 0;
    this.#process.write(`${BEGIN}\n`);
  }

  #onLine(line: string): void {
    const pending = this.#pending;
    // Carets below a faulty line; those of the last transaction's end arrive late.
    if (pending === undefined || /^[\s^~]*$/.test(line)) return;
    if (line === BEGIN) {
      this.#interactive = "yes";
      this.#errorLines = pending.output.splice(0).length;
      return;
    }
    if (line !== pending.end) {
      pending.output.push(line);
      return;
    }
    const output = pending.output.slice(0, pending.output.length - this.#errorLines).join("\n");
    const failed = new CodedError("CSP_EXEC_FAILED", `nft: ${output.slice(0, 1000)}`);
    this.#process.answer(output === "" ? undefined : failed);
  }

  #errorOf({ how, status, unstarted }: Ending): CodedError {
    const rejected = status !== undefined && unstarted === undefined;
    if (rejected && this.#interactive === "unknown") this.#interactive = "no";
    const output = this.#pending?.output.join("\n") ?? "";
    const message = `${this.#program.join(" ")} -i: ${how}: ${output}`;
    return new CodedError(unstarted ?? "CSP_EXEC_FAILED", message);
  }
}
