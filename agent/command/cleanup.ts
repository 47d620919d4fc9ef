import { systemClock } from "../../common/clock.ts";
import type { Logger } from "../../common/log.ts";
import type { AgentConfig } from "../config/config.ts";
import { removeLeftovers } from "./leftovers.ts";
import { becomeSoleWriter } from "./sole-writer.ts";

/** Milliseconds that an agent which was just stopped, or killed in the middle of a transaction, may take. */
const PATIENCE = 15_000;

/**
 * `cleanup`: removes everything of ours from the kernel, whichever flavour or family it is in. Returns the
 * exit code: 1 if something could not be looked at, or if an agent runs: it would be left believing in rules
 * that are gone.
 */
export async function cleanup(
  { lockFile, clusterSetCidrs: ranges }: AgentConfig,
  log: Logger,
): Promise<number> {
  const patience = AbortSignal.timeout(PATIENCE);
  const lock = await becomeSoleWriter(lockFile, log, patience, systemClock);
  if (lock === undefined) {
    log.error("An agent runs on this node: stop it first. Nothing was removed.");
    return 1;
  }
  const { objects, failed } = await removeLeftovers(lock, log, { ranges });
  await lock.release();
  if (objects === 0 && !failed) log.info("There is nothing of ours in the kernel.");
  return failed ? 1 : 0;
}
