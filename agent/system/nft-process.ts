import { systemClock } from "../../common/clock.ts";
import { deadline } from "../../common/deadline.ts";
import { CodedError } from "../../common/errors.ts";
import { Coprocess } from "./coprocess.ts";
import { execLines } from "./exec.ts";

/** How an `NftProcess` is run. */
export interface NftProcessOptions {
  /** The program, and what it is started through. */
  readonly program?: readonly [string, ...string[]];
  /** Descriptors that it holds open as long as it lives. */
  readonly keep?: readonly number[];
  /** Called when a process had to be given up; the next transaction starts another. */
  readonly onRespawn?: () => void;
  /** Milliseconds for one transaction. */
  readonly timeout?: number;
}

const TIMEOUT = 30_000;
/** Characters of a transaction that has a process of its own: a long line is read slowly, and stays in the history. */
const LONG = 50_000;
/** Characters after which a process is let go: it remembers each line. */
const ENOUGH = 2_000_000;
/** No command: the first line of each process, to learn how it complains. */
const BEGIN = "end-of-0";

/**
 * One long-lived `nft -i`. A spawned one has made its transaction in a moment, and then waits until the kernel has freed
 * what was deleted, 10 to 30 ms.
 *
 * A line is a transaction, and a semicolon as good as a new line. What is wrong is said, and nothing of the line is made then;
 * what is right is passed over in silence. So a line that is no command comes after each: the complaint about it says that the
 * transaction is over, and whatever was said before is an objection to that. Nobody listens to standard output, where some
 * builds repeat what they read. There is no history but in memory: the home directory, where it would be kept, is none.
 */
export class NftProcess {
  readonly #options: Required<NftProcessOptions>;
  #process: Coprocess | undefined;
  #count = 0;
  #written = 0;
  #pending:
    | { readonly end: string; readonly said: string[]; settle(error?: CodedError): void }
    | undefined;
  /** Lines of the complaint about a line that is no command, before that line itself; they differ from nft to nft. */
  #complaint = 0;
  /** Whether this nft has `-i`: it may be built without. Until one has answered, or ended, nobody knows. */
  #interactive: "yes" | "no" | "unknown" = "unknown";

  constructor(options: NftProcessOptions = {}) {
    const usual = {
      program: ["nft"],
      keep: [],
      onRespawn: () => undefined,
      timeout: TIMEOUT,
    } as const;
    this.#options = { ...usual, ...options };
  }

  /**
   * Makes one transaction; the caller waits before the next. Rejects with CSP_EXEC_MISSING, CSP_EXEC_STARVED, CSP_EXEC_TIMEOUT,
   * or CSP_EXEC_FAILED with what nft says: then nothing of it is made, unless the process was killed.
   */
  async run(text: string): Promise<void> {
    if (text.length > LONG || !this.#mayStay) return this.#spawn(text);
    if (this.#written > ENOUGH) await this.close();
    const process = this.#started();
    const end = `end-of-${++this.#count}`;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settle = (error?: CodedError) => (error === undefined ? resolve() : reject(error));
    this.#pending = { end, said: [], settle };
    const { program, timeout } = this.#options;
    const cancel = deadline(systemClock, timeout, () => {
      const error = new CodedError("CSP_EXEC_TIMEOUT", `${program.join(" ")} -i: no answer`);
      this.#giveUp(process, error);
      process.kill();
    });
    this.#written += text.length;
    process.write(`${text.replaceAll("\n", ";")}\n${end}\n`);
    try {
      await promise;
    } catch (error) {
      if (this.#mayStay) throw error;
      await this.#spawn(text);
    } finally {
      cancel();
      this.#pending = undefined;
    }
  }

  /** Ends the process; the kernel keeps what it has. */
  async close(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    await process.leave();
  }

  get #mayStay(): boolean {
    return this.#interactive !== "no";
  }

  #spawn(input: string): Promise<void> {
    const [program, ...args] = this.#options.program;
    return execLines([program, ...args, "-f", "-"], () => undefined, { input });
  }

  #started(): Coprocess {
    if (this.#process !== undefined) return this.#process;
    const { program, keep } = this.#options;
    const argv = [
      "sh",
      "-c",
      'export HOME=/nonexistent; exec "$@" 2>&1 >/dev/null',
      "sh",
      ...program,
      "-i",
    ] as const;
    const process = new Coprocess(argv, (line) => this.#hear(line), keep);
    this.#process = process;
    this.#written = 0;
    process.write(`${BEGIN}\n`);
    void process.ended.then((ending) => {
      const { how, unstarted, killed } = ending;
      const refused = !killed && unstarted === undefined;
      if (refused && this.#interactive === "unknown") this.#interactive = "no";
      const said = this.#pending?.said.join("\n") ?? "";
      const message = `${program.join(" ")} -i: ${how}: ${said}`;
      this.#giveUp(process, new CodedError(unstarted ?? "CSP_EXEC_FAILED", message));
    });
    return process;
  }

  #hear(line: string): void {
    const pending = this.#pending;
    // A line of carets shows where in the line before the fault is: that of the last transaction's end comes late.
    if (pending === undefined || /^[\s^~]*$/.test(line)) return;
    if (line === BEGIN) {
      this.#interactive = "yes";
      this.#complaint = pending.said.splice(0).length;
      return;
    }
    if (line !== pending.end) {
      pending.said.push(line);
      return;
    }
    const said = pending.said.slice(0, pending.said.length - this.#complaint).join("\n");
    if (said === "") pending.settle();
    else pending.settle(new CodedError("CSP_EXEC_FAILED", `nft: ${said.slice(0, 1000)}`));
  }

  /** Nothing happens if `process` was let go before. */
  #giveUp(process: Coprocess, error: CodedError): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    this.#options.onRespawn();
    const pending = this.#pending;
    void process.ended.then(() => pending?.settle(error));
  }
}
