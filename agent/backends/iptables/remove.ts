import type { Family } from "../../../api/address.ts";
import { diff } from "./diff.ts";
import { type Flavour, inUse, toolsOf } from "./flavour.ts";
import { readBack } from "./read.ts";
import { RestoreProcess } from "./restore.ts";

/** How rules are removed. */
export interface RemoveOptions {
  /** Descriptors that stay open until the kernel has answered. */
  readonly keep?: readonly number[];
  /** What the tools are started through; nothing, unless it is another network namespace's. */
  readonly within?: readonly string[];
  /** Ends the reading back, so that nothing is removed; not the removal. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Removes exactly what is ours from one flavour and family, DNAT before the guard, and returns how many chains
 * and jumps that were: 0 the second time. Needs no memory of what was programmed. Rejects as reading back and
 * `RestoreProcess.run` do.
 */
export async function removeOwn(
  flavour: Flavour,
  family: Family,
  { keep = [], within = [], stop }: RemoveOptions = {},
): Promise<number> {
  if (within.length === 0 && !(await inUse(flavour, family))) return 0;
  const tools = toolsOf(flavour, family, within);
  const believed = await readBack(tools, stop);
  const tx = diff(believed, { complete: true, chains: new Map(), jumps: [] });
  if (tx.empty) return 0;
  const restore = new RestoreProcess(tools.restore, () => undefined, keep);
  await restore.run(tx.toString());
  await restore.close();
  return tx.deletes;
}
