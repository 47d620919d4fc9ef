import type { Family } from "../../../api/address.ts";
import { diff } from "./diff.ts";
import { type Flavour, inUse, toolsOf } from "./flavour.ts";
import { readBack } from "./read.ts";
import { RestoreProcess } from "./restore.ts";
import { type Believed, type Changes, type Table, tableOf } from "./tables.ts";

/** How rules are removed. */
export interface RemoveOptions {
  /**
   * What goes first: the DNAT, so that nothing is let through to what only it would refuse; or the guard, where others lead
   * the same connections on as soon as the DNAT is gone.
   */
  readonly first: "dnat" | "guard";
  /** Descriptors that stay open until the kernel has answered. */
  readonly keep?: readonly number[];
  /** What the tools are started through; nothing, unless it is another network namespace's. */
  readonly within?: readonly string[];
  /** Ends the reading back, so that nothing is removed; not the removal. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Removes exactly what is ours from one flavour and family, and returns how many chains and jumps that were: 0 the second
 * time. Needs no memory of what was programmed. Rejects as reading back and `RestoreProcess.run` do.
 */
export async function removeOwn(
  flavour: Flavour,
  family: Family,
  { first, keep = [], within = [], stop }: RemoveOptions,
): Promise<number> {
  if (within.length === 0 && !(await inUse(flavour, family))) return 0;
  const tools = toolsOf(flavour, family, within);
  const believed = await readBack(tools, stop);
  // A transaction takes away the DNAT first.
  const parts = first === "dnat" ? [believed] : TABLES.map((table) => partOf(believed, table));
  const none: Changes = { complete: true, chains: new Map(), jumps: [] };
  const steps = parts.map((part) => diff(part, none)).filter(({ empty }) => !empty);
  if (steps.length === 0) return 0;
  const restore = new RestoreProcess(tools.restore, () => undefined, keep);
  for (const step of steps) await restore.run(step.toString());
  await restore.close();
  return steps.reduce((sum, { deletes }) => sum + deletes, 0);
}

/** The guard's table, then that of DNAT. */
const TABLES = ["filter", "nat"] as const;

function partOf({ chains, jumps }: Believed, table: Table): Believed {
  const isInside = (key: `${Table} ${string}`) => tableOf(key)[0] === table;
  return {
    chains: new Map([...chains].filter(([key]) => isInside(key))),
    jumps: jumps.filter(isInside),
  };
}
