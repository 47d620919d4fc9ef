import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/log.ts";
import { NodeLock } from "../system/node-lock.ts";
import { wait } from "./wait.ts";

/** Milliseconds between two tries. */
const AGAIN = 500;

/**
 * Waits until no other agent writes to this node. A predecessor that is shutting down takes a moment; one that
 * is not is told of, once. Gives undefined if `stop` is aborted first; rejects as `NodeLock.take` does.
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
      log.warn("Another agent writes to this node; waiting for it to end.", { lockFile: path });
    }
    await wait(clock, AGAIN, stop);
  }
  return undefined;
}
