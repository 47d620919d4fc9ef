import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/clock.ts";
import type { Logger } from "../../common/log.ts";
import { NodeLock } from "../system/node-lock.ts";

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
