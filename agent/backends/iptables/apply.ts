import { CodedError, type ErrorCode } from "../../../common/errors.ts";
import { PersistentProcess } from "../../system/persistent-process.ts";
import type { Argv } from "../../system/program-result.ts";
import type { Ending } from "../../system/start-program.ts";
import { ToolTimeout } from "../../system/tool-timeout.ts";

/** How long a transaction may take before its process is killed; longer after one that took longer (`ToolTimeout`). */
export interface RestoreTimeouts {
  /** Milliseconds for any transaction: the lock of the legacy flavour may be held by another program. */
  readonly base: number;
  /** Milliseconds more for each megabyte of input. */
  readonly perMegabyte: number;
  /** Milliseconds that another program may hold the lock. */
  readonly lock: number;
}

const TIMEOUTS: RestoreTimeouts = { base: 30_000, perMegabyte: 10_000, lock: 5_000 };
/** Characters of input after which the process is ended, because it keeps the memory of its largest transaction. */
const LARGE = 2_000_000;
/** Messages of libc and iptables for ENOMEM, ENOBUFS, EMFILE and ENFILE. */
const STARVED =
  /Cannot allocate memory|Memory allocation problem|No buffer space|Too many open files/;

/**
 * A long-lived `iptables-restore --noflush`, so that an update does not wait for a process to start and, in the nft flavour, to
 * close its socket (16 ms, iptables 1.8.9).
 *
 * With `-v` it echoes comments, so a numbered comment after COMMIT is the acknowledgement; stdbuf makes it write line by line. On
 * any error it rolls back the present table and exits; the next transaction starts another process.
 */
export class RestoreProcess {
  readonly #name: string;
  readonly #timeouts: RestoreTimeouts;
  readonly #timeout: ToolTimeout;
  readonly #process: PersistentProcess;
  /** The acknowledgement of the transaction under way. */
  #ack: string | undefined;
  #count = 0;

  /** `program`: the tool. `onRespawn`: called whenever a process failed. `keep`: descriptors that the process keeps open. */
  constructor(
    program: Argv,
    onRespawn: () => void = () => undefined,
    keep: readonly number[] = [],
    timeouts: Partial<RestoreTimeouts> = {},
  ) {
    // -w waits for the xtables lock; the nft flavour ignores it. Not with a number of seconds: the legacy flavour's alarm for
    // them keeps running once it has the lock (1.8.9), and then ends its input early.
    const argv = ["stdbuf", "-oL", ...program, "--noflush", "-v", "-w"] as const;
    this.#name = program.at(-1) ?? "";
    this.#timeouts = { ...TIMEOUTS, ...timeouts };
    this.#timeout = new ToolTimeout(this.#timeouts.base);
    const onLine = (line: string) => {
      if (line === this.#ack) this.#process.answer();
    };
    const errorOf = (ending: Ending) => restoreError(this.#name, ending);
    this.#process = new PersistentProcess({ argv, keep, onLine, errorOf, onRespawn });
  }

  /** Starts the process ahead of its first transaction, while the agent's memory is small (fork copies it). */
  warm(): void {
    this.#process.start();
  }

  /**
   * Runs one transaction, in pieces that are made as the process reads them; the caller waits before it runs the next. Rejects
   * with CSP_EXEC_MISSING, CSP_EXEC_STARVED, CSP_RESTORE_EXITED, CSP_RESTORE_KILLED, CSP_RESTORE_TIMEOUT or CSP_LOCK_HELD, or with
   * the error of a piece. It is then unknown how much of the transaction is live.
   */
  async run(text: string | Iterable<string>): Promise<void> {
    const answered = this.#process.begin();
    const ack = `# ack ${++this.#count}`;
    this.#ack = ack;
    const fail = (code: ErrorCode, why: string) =>
      void this.#process.kill(new CodedError(code, `${this.#name}: ${why}`));
    const { base, perMegabyte } = this.#timeouts;
    let length = 0;
    let call = this.#timeout.begin();
    const giveUp = () => {
      const before = length;
      // After SIGSTOP and SIGCONT, the timer is due before output that came in time.
      setImmediate(() => {
        if (this.#ack !== ack || length !== before) return;
        call.expired(this.#process.cpuTime);
        fail("CSP_RESTORE_TIMEOUT", "no answer");
      });
    };
    let timer = setTimeout(giveUp, call.ms);
    const lockTimer = setInterval(() => {
      if (this.#process.waitsForLock) fail("CSP_LOCK_HELD", "another program holds the lock");
    }, this.#timeouts.lock);
    try {
      let last = "";
      for (const piece of typeof text === "string" ? [text] : text) {
        if (last !== "") this.#process.write(last);
        const { room } = this.#process;
        if (room !== undefined) await Promise.race([room, answered]);
        length += piece.length;
        last = piece;
        timer = timer.refresh();
      }
      clearTimeout(timer);
      call.failed();
      call = this.#timeout.begin(base + (length / 1e6) * perMegabyte);
      timer = setTimeout(giveUp, call.ms);
      this.#process.write(`${last}${ack}\n`);
      await answered;
      call.ended();
    } catch (error) {
      // The process would read the next transaction as the rest of this one.
      await this.#process.kill(error);
      throw error;
    } finally {
      call.failed();
      clearTimeout(timer);
      clearInterval(lockTimer);
      this.#ack = undefined;
    }
    if (length > LARGE) await this.close();
  }

  /** Ends the process; the kernel keeps what it has. */
  close(): Promise<void> {
    return this.#process.close();
  }
}

function restoreError(name: string, { how, status, unstarted, stderr }: Ending): CodedError {
  const starved = STARVED.test(stderr) ? "CSP_EXEC_STARVED" : undefined;
  const ended = status === undefined ? "CSP_RESTORE_KILLED" : "CSP_RESTORE_EXITED";
  const code = unstarted ?? starved ?? ended;
  // Only an error of the tool itself: a service is quarantined for it.
  const rejected = code === "CSP_RESTORE_EXITED";
  return new CodedError(code, `${name}: ${how}: ${stderr}`, { rejected });
}
