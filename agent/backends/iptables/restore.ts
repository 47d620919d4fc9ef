import { CodedError, type ErrorCode } from "../../../common/errors.ts";
import { Coprocess, type Ending } from "../../system/coprocess.ts";
import type { Argv } from "./flavour.ts";

/** How long a transaction may take before its process is given up. */
export interface RestoreTimeouts {
  /** Milliseconds for any transaction: the lock of the legacy flavour may be held by another program. */
  readonly base: number;
  /** Milliseconds more for each megabyte of input. */
  readonly perMegabyte: number;
  /** Milliseconds for which another program may keep the lock. */
  readonly lock: number;
}

const TIMEOUTS: RestoreTimeouts = { base: 30_000, perMegabyte: 10_000, lock: 5_000 };
/** Characters of input after which the process is let go: it keeps the memory of its largest transaction. */
const LARGE = 2_000_000;
/** What libc and iptables say of ENOMEM, ENOBUFS, EMFILE and ENFILE. */
const STARVED =
  /Cannot allocate memory|Memory allocation problem|No buffer space|Too many open files/;

/**
 * One long-lived `iptables-restore --noflush`: an update need not wait for a process to start and, in the nft
 * flavour, for the kernel to let go of its socket (16 ms, iptables 1.8.9).
 *
 * With `-v` it echoes comments, so a numbered comment behind COMMIT is the acknowledgement; stdbuf makes it
 * answer line by line. It applies at COMMIT while its input stays open. On any error it undoes the table that
 * it was in and ends: the next transaction starts another one.
 */
export class RestoreProcess {
  readonly #argv: Argv;
  readonly #name: string;
  readonly #keep: readonly number[];
  readonly #timeouts: RestoreTimeouts;
  readonly #onRespawn: () => void;
  #process: Coprocess | undefined;
  /** Settles the transaction in flight. */
  #answer: { readonly ack: string; resolve(): void; reject(error: unknown): void } | undefined;
  #count = 0;

  /**
   * `program`: how to start `iptables-nft-restore` or one of its sisters. `onRespawn` is called whenever a
   * process has failed, so that the next transaction has to start another. `keep`: descriptors that stay open
   * for as long as a transaction may be under way.
   */
  constructor(
    program: Argv,
    onRespawn: () => void,
    keep: readonly number[] = [],
    timeouts: Partial<RestoreTimeouts> = {},
  ) {
    // -w: wait for the xtables lock; the nft flavour has none, and takes the flag. Never with a number of seconds: the
    // legacy flavour sets an alarm for these and does not take it back once it has the lock (1.8.9), so that so many
    // seconds after the beginning of a table whatever it reads then seems to have ended.
    this.#argv = ["stdbuf", "-oL", ...program, "--noflush", "-v", "-w"];
    this.#name = program.at(-1) ?? "";
    this.#onRespawn = onRespawn;
    this.#keep = keep;
    this.#timeouts = { ...TIMEOUTS, ...timeouts };
  }

  /** Starts the process ahead of its first transaction, while the agent's memory is small (fork copies it). */
  warm(): void {
    this.#started();
  }

  /**
   * Runs one transaction, as a whole or in pieces that are made as the process reads them; the caller waits before it runs the
   * next. Rejects with CSP_EXEC_MISSING, CSP_EXEC_STARVED, CSP_RESTORE_EXITED, CSP_RESTORE_KILLED or CSP_RESTORE_TIMEOUT, or with
   * what
   * the pieces throw; how much of the transaction is live is then unknown.
   */
  async run(text: string | Iterable<string>): Promise<void> {
    const process = this.#started();
    const ack = `# ack ${++this.#count}`;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#answer = { ack, resolve, reject };
    const { base, perMegabyte } = this.#timeouts;
    let length = 0;
    const giveUp = () => {
      const before = length;
      // Who was stopped, and goes on, sees that a timer is due before what came in time.
      setImmediate(() => {
        if (this.#answer?.ack !== ack || length > before) return;
        this.#giveUp(process, new CodedError("CSP_RESTORE_TIMEOUT", `${this.#name}: no answer`));
      });
    };
    let timer = setTimeout(giveUp, base);
    const lockTimer = setInterval(() => {
      if (!process.waitsForLock) return;
      const message = `${this.#name}: another program holds the lock`;
      this.#giveUp(process, new CodedError("CSP_LOCK_HELD", message));
    }, this.#timeouts.lock);
    try {
      let last = "";
      for (const piece of typeof text === "string" ? [text] : text) {
        if (last !== "") process.write(last);
        const { room } = process;
        if (room !== undefined) await Promise.race([room, promise]);
        length += piece.length;
        last = piece;
        timer = timer.refresh();
      }
      clearTimeout(timer);
      timer = setTimeout(giveUp, base + (length / 1e6) * perMegabyte);
      process.write(`${last}${ack}\n`);
      await promise;
    } catch (error) {
      // It may still fail, for what is thrown here already.
      promise.catch(() => undefined);
      // Half a transaction: what came next would be taken for the rest of it.
      this.#giveUp(process, error);
      await process.ended;
      throw error;
    } finally {
      clearTimeout(timer);
      clearInterval(lockTimer);
      this.#answer = undefined;
    }
    if (length > LARGE) await this.close();
  }

  /** Ends the process; the kernel keeps what it has. */
  async close(): Promise<void> {
    const process = this.#process;
    if (process === undefined) return;
    this.#process = undefined;
    await process.leave();
  }

  #started(): Coprocess {
    if (this.#process !== undefined) return this.#process;
    const onLine = (line: string) => {
      if (line === this.#answer?.ack) this.#answer.resolve();
    };
    const process = new Coprocess(this.#argv, onLine, this.#keep);
    this.#process = process;
    // Once in its life, not once a transaction: a promise keeps all that was hung on it until it settles, and
    // this one may take months. A process that dies between transactions is replaced without a failed one.
    void process.ended.then(({ how, ...ending }) => {
      const message = `${this.#name}: ${how}: ${ending.stderr}`;
      this.#giveUp(process, new CodedError(codeOf(ending), message));
    });
    return process;
  }

  /**
   * Nothing happens if `process` is no longer ours to judge: it was given up before, or let go. The transaction
   * fails only once the process is gone: one that is killed in the middle of a commit finishes that first, and
   * whoever reads the kernel back before would believe in what is about to change.
   */
  #giveUp(process: Coprocess, error: unknown): void {
    if (this.#process !== process) return;
    this.#process = undefined;
    process.kill();
    this.#onRespawn();
    const answer = this.#answer;
    void process.ended.then(() => answer?.reject(error));
  }
}

/** What is nobody's refusal must not pass for one: whole services are set aside for that. */
function codeOf({ unstarted, killed, stderr }: Omit<Ending, "how">): ErrorCode {
  if (unstarted !== undefined) return unstarted;
  if (STARVED.test(stderr)) return "CSP_EXEC_STARVED";
  return killed ? "CSP_RESTORE_KILLED" : "CSP_RESTORE_EXITED";
}
