import { systemClock } from "../../common/clock.ts";
import type { Logger } from "../../common/log.ts";
import { KINDS } from "../backends/kinds.ts";
import type { AgentConfig } from "../config/config.ts";
import { removeLeftovers } from "./remove-leftovers.ts";
import { becomeSoleWriter } from "./sole-writer.ts";

/** Milliseconds that an agent which was just stopped, or killed in the middle of a transaction, may take to end. */
const TIMEOUT = 15_000;

/**
 * `cleanup`: removes all kernel objects of the agent, of every backend and family. Returns the exit code: 1 if something could
 * not be removed, or if an agent is running on this node, whose rules must not be removed.
 */
export async function cleanup(
  { lockFile, clusterSetCidrs: ranges }: AgentConfig,
  log: Logger,
): Promise<number> {
  const timeout = AbortSignal.timeout(TIMEOUT);
  const lock = await becomeSoleWriter(lockFile, log, timeout, systemClock);
  if (lock === undefined) {
    log.error("An agent is running on this node; nothing was removed");
    return 1;
  }
  const { objects, failed } = await removeLeftovers(
    { kinds: KINDS, ranges, keep: [lock.descriptor] },
    log,
  );
  await lock.release();
  if (objects === 0 && !failed) log.info("Found no objects to remove");
  return failed ? 1 : 0;
}
