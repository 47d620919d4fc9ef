import { spawn } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, open } from "node:fs/promises";
import { type Clock, sleep } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";

/** Exit status of `flock -n` if another process has the lock. */
const HELD = 1;

/**
 * A lock (flock) that lets one agent at a time write to this node: two would repeatedly undo each other's rules.
 *
 * The lock belongs to the open descriptor, which iptables-restore inherits. If an agent is killed in the middle of a
 * transaction, the next one starts after that transaction has ended. Only root may open the file: any process that can
 * could keep the agent from starting.
 */
export class NodeLock {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Passed to children that must keep the lock. */
  get descriptor(): number {
    return this.#file.fd;
  }

  /**
   * Locks the file at `path` and creates it if necessary. Returns undefined while another process holds the lock. Rejects
   * with CSP_LOCK_UNAVAILABLE if the file cannot be created, or without the program flock.
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

  /** Releases the lock; children that inherited it keep it until they end. */
  async release(): Promise<void> {
    await this.#file.close();
  }
}

/** Milliseconds between two tries. */
const RETRY = 500;

/**
 * Waits until no other agent programs this node. Another agent usually shuts down within a second; one that does not is logged
 * once. Gives undefined if `stop` is aborted first. Rejects as `NodeLock.take` does.
 */
export async function becomeSoleWriter(
  path: string,
  log: Logger,
  stop: AbortSignal,
  clock: Clock,
): Promise<NodeLock | undefined> {
  let tries = 0;
  while (!stop.aborted) {
    const lock = await NodeLock.take(path);
    if (lock !== undefined) return lock;
    if (tries++ === 2) {
      log.warn("Another agent programs this node; waiting for it to end", { lockFile: path });
    }
    await sleep(clock, RETRY, stop);
  }
  return undefined;
}
