import type { Clock } from "../../common/clock.ts";
import type { Logger } from "../../common/log.ts";
import { NodeLock } from "../system/node-lock.ts";

/** Milliseconds between two tries. */
const AGAIN = 200;

/**
 * Waits until no other agent writes to this node. A predecessor that is shutting down takes a moment; one that
 * is not is told of, once. Gives undefined if `stop` is aborted first.
 */
export async function becomeSoleWriter(
  log: Logger,
  stop: AbortSignal,
  clock: Clock,
): Promise<NodeLock | undefined> {
  let tries = 0;
  while (!stop.aborted) {
    const lock = await NodeLock.take();
    if (lock !== undefined) return lock;
    if (tries++ === 5) log.warn("Another agent writes to this node; waiting for it to end.");
    await new Promise<void>((resolve) => clock.after(AGAIN, resolve));
  }
  return undefined;
}
