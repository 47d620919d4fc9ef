import { Refused } from "./faults.ts";
import type { Rule, Target } from "./rule.ts";
import { BASE_CHAINS, type Table } from "./table.ts";

/** NFT_JUMP_STACK_SIZE - 1: chains deep under a base chain, gotos included. Legacy allows more. */
const DEPTH = 15;

/** The hooks from which a target may be reached; the rest may be reached from all. */
const HOOKS: Readonly<Partial<Record<Target["target"], readonly string[]>>> = {
  DNAT: ["PREROUTING", "OUTPUT"],
  MASQUERADE: ["POSTROUTING"],
};

/** The kernel's check of a single rule: `base` is its chain, or the hook that reaches it. */
export function checkRule(table: Table, base: string, { target, text }: Rule): void {
  const hooks = target && table.chains.get(base)?.policy && HOOKS[target.target];
  if (hooks && !hooks.includes(base)) {
    throw new Refused("kernel", `${text} in ${base}: Invalid argument`);
  }
  if (target && "chain" in target && table.chains.get(target.chain)?.policy) {
    throw new Refused("kernel", `${text}: jump to a base chain`);
  }
}

/**
 * What the kernel checks at COMMIT: all chains that a base chain reaches. Chains that none reaches may
 * hold loops and misplaced targets, in the real kernel too.
 */
export function checkCommit(table: Table): void {
  for (const base of BASE_CHAINS[table.table]) walk(table, base, base, [], new Map());
}

/** Depth of the tree under `name`; `heights` are those found already, `path` the chains on the way here. */
function walk(
  table: Table,
  base: string,
  name: string,
  path: readonly string[],
  heights: Map<string, number>,
): number {
  const known = heights.get(name);
  if (known !== undefined) return known;
  if (path.includes(name)) throw new Refused("kernel", `chain ${name}: Too many links`);
  let height = 0;
  for (const rule of table.chain(name).rules) {
    checkRule(table, base, rule);
    const { target } = rule;
    if (target && "chain" in target) {
      height = Math.max(height, 1 + walk(table, base, target.chain, [...path, name], heights));
    }
  }
  if (height > DEPTH) throw new Refused("kernel", `chain ${name}: Too many links`);
  heights.set(name, height);
  return height;
}
