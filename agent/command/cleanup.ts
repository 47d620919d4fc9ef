import { FAMILIES } from "../../api/address.ts";
import { systemClock } from "../../common/clock.ts";
import { codeOf } from "../../common/errors.ts";
import type { Logger } from "../../common/log.ts";
import { KINDS } from "../backends/kinds.ts";
import type { AgentConfig } from "../config/config.ts";
import { HEALTH_TABLE } from "../health/health-rules.ts";
import { HealthTable } from "../health/health-table.ts";
import { becomeSoleWriter } from "../system/node-lock.ts";
import { TRAFFIC_TABLE } from "../traffic/traffic-rules.ts";
import { TrafficTable } from "../traffic/traffic-table.ts";
import { removeLeftovers } from "./remove-leftovers.ts";

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
  const health = new HealthTable(FAMILIES, []);
  const traffic = new TrafficTable(FAMILIES, []);
  const tables = [
    await removeTables(HEALTH_TABLE, health, log),
    await removeTables(TRAFFIC_TABLE, traffic, log),
  ];
  await lock.release();
  const areGone = !failed && !tables.includes(undefined);
  if (areGone && objects === 0 && tables.every((rules) => rules === 0))
    log.info("Found no objects to remove");
  return areGone ? 0 : 1;
}

/** Returns the number of rules that were removed with the tables of this name; undefined if that failed. */
async function removeTables(
  table: string,
  tables: { uninstall(): Promise<number> },
  log: Logger,
): Promise<number | undefined> {
  try {
    const removed = await tables.uninstall();
    if (removed > 0) log.info("Removed leftover objects", { table, removed });
    return removed;
  } catch (error) {
    // Without netlink or nft, none was written.
    if (["CSP_NETLINK_UNAVAILABLE", "CSP_EXEC_MISSING"].includes(codeOf(error) ?? "")) return 0;
    log.error("Could not remove leftover objects", { table, error });
    return undefined;
  }
}
