import { spawn } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, open } from "node:fs/promises";
import { CodedError } from "../../common/errors.ts";

/**
 * The right to write to this network namespace, for one agent at a time: two would undo each other's rules
 * for ever. What is locked is the namespace's own file, so there is no lock file to be left behind, to be
 * missing, or to be another one in another container.
 *
 * The lock is the kernel's (flock) and belongs to an open descriptor, with whatever process has it open:
 * iptables-restore inherits it. An agent that is killed in the middle of a transaction is succeeded only once
 * that transaction is over, and its successor reads back what it has become.
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

  /** Takes the lock, or gives undefined while another has it. Rejects with CSP_EXEC_MISSING without flock. */
  static async take(): Promise<NodeLock | undefined> {
    const file = await open("/proc/self/ns/net", "r");
    try {
      const flock = spawn("flock", ["-n", "3"], { stdio: ["ignore", "ignore", "ignore", file.fd] });
      const [status] = await once(flock, "close");
      if (status === 0) return new NodeLock(file);
    } catch (cause) {
      await file.close();
      throw new CodedError("CSP_EXEC_MISSING", "flock could not be started", { cause });
    }
    await file.close();
    return undefined;
  }

  /** Gives the lock back; children that have inherited it keep it until they end. */
  async release(): Promise<void> {
    await this.#file.close();
  }
}
