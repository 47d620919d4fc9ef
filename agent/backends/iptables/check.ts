import type { Drift } from "../backend.ts";
import { compare } from "./compare.ts";
import type { Judge, ListChains } from "./judge.ts";
import { ownersIn } from "./owner.ts";
import { leadsToOurs } from "./parse.ts";
import {
  BASES,
  type Believed,
  type ChainKey,
  digestOf,
  type Jump,
  TABLES,
  tableOf,
} from "./tables.ts";

/**
 * Looks at what all else hangs on: the jumps in the kernel's own chains, and the chains that they lead to. What
 * is below is left to the complete comparison.
 */
export async function check(
  believed: Believed,
  list: ListChains,
  judge: Judge,
  stop?: AbortSignal,
): Promise<Drift[]> {
  const first = new Set(believed.jumps.map(targetOf));
  const own = [...first].filter((key) => believed.chains.has(key));
  const listing = await list([...BASES, ...own], () => true, stop);
  const lines = (key: ChainKey) => listing.get(key) ?? [];
  const jumps = BASES.flatMap((key) => {
    const [table] = tableOf(key);
    return lines(key)
      .filter(leadsToOurs)
      .map((line): Jump => `${table} ${line.slice(3)}`);
  });
  const present = own.flatMap((key) => {
    const rules = listing.get(key);
    return rules === undefined ? [] : [[key, digestOf(rules)] as const];
  });
  const before: Believed = {
    chains: new Map(own.map((key) => [key, believed.chains.get(key) ?? ""])),
    jumps: believed.jumps,
  };
  const behind = await judge.again(jumps, listing, stop);
  const drift = compare(before, { chains: new Map(present), jumps, behind });
  const told = drift.map((one) => suspected(one, jumps, lines));
  // The first is the one that a log line has room for.
  return [...told.filter((one) => one.suspect), ...told.filter((one) => !one.suspect)];
}

/** If a table has lost all our jumps, it was flushed: whose rules are there now is the only trace. */
function suspected(
  drift: Drift,
  jumps: readonly Jump[],
  lines: (key: ChainKey) => readonly string[],
): Drift {
  const table = TABLES.find((each) => drift.what.startsWith(`${each} `));
  if (drift.suspect !== undefined || jumps.some((jump) => tableOf(jump)[0] === table)) return drift;
  const left = BASES.filter((key) => tableOf(key)[0] === table).flatMap(lines);
  const suspect = ownersIn(left);
  return suspect === undefined ? drift : { ...drift, suspect };
}

function targetOf(jump: Jump): ChainKey {
  const [table, rule] = tableOf(jump);
  return `${table} ${rule.slice(rule.lastIndexOf(" ") + 1)}`;
}
