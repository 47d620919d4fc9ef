import type { Drift } from "../backend.ts";
import type { Believed } from "./tables.ts";

/**
 * What somebody else did between two readings of which nothing of ours lies between. Chains under our name that
 * nobody asked for do no harm: the next complete pass deletes them.
 */
export function compare(before: Believed, found: Believed): Drift[] {
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
