import type { Family } from "../../../api/address.ts";
import { exec } from "../../system/exec.ts";
import { diff } from "./diff.ts";
import { type Flavour, inUse, toolsOf } from "./flavour.ts";
import { readBack } from "./read.ts";

/**
 * Removes exactly what is ours from one flavour and family, DNAT before the guard, and returns how many chains
 * and jumps that were: 0 the second time. Needs no memory of what was programmed. Rejects as `exec` does.
 */
export async function removeOwn(
  flavour: Flavour,
  family: Family,
  within: readonly string[] = [],
): Promise<number> {
  if (within.length === 0 && !(await inUse(flavour, family))) return 0;
  const tools = toolsOf(flavour, family, within);
  const believed = await readBack(tools.save);
  const tx = diff(believed, { complete: true, chains: new Map(), jumps: [] });
  if (tx.empty) return 0;
  await exec([...tools.restore, "--noflush", "-w", "5"], { stdin: tx.toString() });
  return tx.deletes;
}
