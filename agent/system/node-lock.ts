import { spawn } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, open } from "node:fs/promises";
import { CodedError } from "../../common/errors.ts";

/** Exit status of `flock -n` if another process has the lock. */
const HELD = 1;

/**
 * The right to write to this node, for one agent at a time: two would undo each other's rules for ever.
 *
 * The lock is the kernel's (flock) and belongs to an open descriptor, with whatever process has it open:
 * iptables-restore inherits it. An agent that is killed in the middle of a transaction is succeeded only once
 * that transaction is over, and its successor reads back what it has become. The file is root's alone: whoever
 * could open it could keep the agent from starting.
 */
export class NodeLock {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** For children that must keep the lock. */
  get descriptor(): number {
    return this.#file.fd;
  }

  /**
   * Takes the lock of the file at `path`, which is made if need be; gives undefined while another has it.
   * Rejects with CSP_LOCK_UNAVAILABLE if there can be no such file, or no flock.
   */
  static async take(path: string): Promise<NodeLock | undefined> {
    let file: FileHandle | undefined;
    try {
      file = await open(path, "a", 0o600);
      const flock = spawn("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", file.fd] });
      const [status] = await once(flock, "close");
      if (status === 0) return new NodeLock(file);
      if (status !== HELD) throw new Error(`flock: exit status ${status}`);
    } catch (cause) {
      await file?.close();
      throw new CodedError("CSP_LOCK_UNAVAILABLE", `cannot lock ${path}`, { cause });
    }
    await file.close();
    return undefined;
  }

  /** Gives the lock back; children that have inherited it keep it until they end. */
  async release(): Promise<void> {
    await this.#file.close();
  }
}
