import type { Drift } from "../backend.ts";
import type { KernelState } from "./state.ts";

/**
 * What other programs changed between two reads without a transaction of ours in between. Additional chains with our prefix
 * are no drift: the next complete pass deletes them.
 */
export function compare(before: KernelState, found: KernelState): Drift[] {
  const drift: Drift[] = [];
  for (const [key, digest] of before.chains) {
    const now = found.chains.get(key);
    if (now === digest) continue;
    drift.push({ reason: now === undefined ? "chain-missing" : "chain-changed", what: key });
  }
  const left = new Set(found.jumps);
  for (const jump of new Set(before.jumps)) {
    const suspect = found.behind?.get(jump);
    if (!left.has(jump)) drift.push({ reason: "jump-missing", what: jump });
    else if (suspect !== undefined) drift.push({ reason: "jump-behind", what: jump, suspect });
  }
  const expected = [...before.jumps];
  for (const jump of found.jumps) {
    const at = expected.indexOf(jump);
    if (at >= 0) expected.splice(at, 1);
    else drift.push({ reason: "jump-extra", what: jump });
  }
  return drift;
}
