import type { Family } from "../../../api/address.ts";
import { finished } from "../backend.ts";
import { RestoreProcess } from "./apply.ts";
import { diff } from "./diff.ts";
import { type Flavour, inUse, toolsOf } from "./flavour.ts";
import { readBack } from "./read.ts";
import { type Changes, type KernelState, TABLES, type Table, tableOf } from "./state.ts";

/** How to remove rules. */
export interface RemoveOptions {
  /** The DNAT if nothing else forwards the connections; the guard if another backend does, once the DNAT is removed. */
  readonly first: "dnat" | "guard";
  /** Descriptors that child processes keep open. */
  readonly keep?: readonly number[];
  /** Ends the reading back, so that nothing is removed; not the removal. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Removes all chains and jumps of ours in one flavour and family, and returns their number: 0 the second time. Needs no memory
 * of an earlier run. Rejects as reading back and `RestoreProcess.run` do.
 */
export async function removeOwn(
  flavour: Flavour,
  family: Family,
  { first, keep = [], stop }: RemoveOptions,
): Promise<number> {
  if (!(await inUse(flavour, family))) return 0;
  const tools = toolsOf(flavour, family);
  const { state } = await readBack(tools, stop);
  // One transaction would delete the DNAT first; the guard is in the first table.
  const parts = first === "dnat" ? [state] : TABLES.map((table) => partOf(state, table));
  const none: Changes = { complete: true, chains: new Map(), jumps: [] };
  const steps = parts.map((part) => finished(diff(part, none))).filter(({ empty }) => !empty);
  if (steps.length === 0) return 0;
  const restore = new RestoreProcess(tools.restore, undefined, keep);
  for (const step of steps) await restore.run(step.toString());
  await restore.close();
  return steps.reduce((sum, { deletes }) => sum + deletes, 0);
}

function partOf({ chains, jumps }: KernelState, table: Table): KernelState {
  const isInside = (key: `${Table} ${string}`) => tableOf(key)[0] === table;
  return {
    chains: new Map([...chains].filter(([key]) => isInside(key))),
    jumps: jumps.filter(isInside),
  };
}
