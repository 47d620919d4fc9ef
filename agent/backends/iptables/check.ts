import type { Drift } from "../backend.ts";
import { compare } from "./compare.ts";
import { type ForeignRule, parseForeign } from "./foreign-rule.ts";
import { concerns, obstacle, placeOf, rulesBefore } from "./obstacle.ts";
import { obstacleText, ownersIn } from "./owner.ts";
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

/** The rules of chains, each a line of iptables-save; undefined for a chain that there is not. */
export type Listing = ReadonlyMap<ChainKey, readonly string[] | undefined>;
/** True for rules that are to be listed. */
export type Keep = (line: string) => boolean;
/** Lists chains as they are now. */
export type ListChains = (keys: readonly ChainKey[], keep: Keep) => Promise<Listing>;

/**
 * Chains of others that one look reads. More are a policy for each pod, in filter, and are then taken to let
 * through to us what they do not refuse; in nat they are taken for an obstacle.
 */
const MOST_CHAINS = 64;

/**
 * Looks at what all else hangs on: the jumps in the kernel's own chains, and the chains that they lead to. What
 * is below is left to the complete comparison.
 */
export async function check(believed: Believed, list: ListChains): Promise<Drift[]> {
  const first = new Set(believed.jumps.map(targetOf));
  const own = [...first].filter((key) => believed.chains.has(key));
  const listing = await list([...BASES, ...own], () => true);
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
  const behind = await judge(jumps, listing, list);
  const drift = compare(before, { chains: new Map(present), jumps, behind });
  return drift.map((one) => suspected(one, jumps, lines));
}

/** Which of these jumps stand behind a rule that takes their packets, and who has put it there. */
export async function behindOf(
  jumps: readonly Jump[],
  list: ListChains,
): Promise<ReadonlyMap<Jump, string>> {
  const standing = jumps.filter((jump) => BASES.includes(baseOf(jump)));
  if (standing.length === 0) return new Map();
  return judge(standing, await list([...new Set(standing.map(baseOf))], () => true), list);
}

/** `listing`: the kernel's own chains. Chains that their rules lead to are read as far as it takes. */
async function judge(
  jumps: readonly Jump[],
  listing: Listing,
  list: ListChains,
): Promise<Map<Jump, string>> {
  const behind = new Map<Jump, string>();
  const foreign = {
    filter: new Map<string, readonly ForeignRule[] | undefined>(),
    nat: new Map<string, readonly ForeignRule[] | undefined>(),
  };
  const cases = [...new Set(jumps)].map((jump) => {
    const [table, rule] = tableOf(jump);
    const before = rulesBefore(listing.get(baseOf(jump)) ?? [], `-A ${rule}`);
    return { jump, table, place: placeOf(jump), before };
  });
  const keep = (line: string) => {
    const rule = parseForeign(line);
    return cases.some(({ place }) => concerns(rule, place));
  };
  for (;;) {
    const needed = new Set<ChainKey>();
    const full = foreign.nat.size + foreign.filter.size >= MOST_CHAINS;
    for (const { jump, table, place, before } of cases) {
      const { obstacle: found, unlisted } = obstacle(before, foreign[table], place);
      const [unread] = table === "nat" && full ? unlisted.values() : [];
      if (found !== undefined) behind.set(jump, obstacleText(found));
      else if (unread !== undefined)
        behind.set(jump, obstacleText({ rule: unread, taker: unread }));
      else for (const name of unlisted.keys()) needed.add(`${table} ${name}`);
    }
    if (full || needed.size === 0) return behind;
    for (const [key, lines] of await list([...needed].slice(0, MOST_CHAINS), keep)) {
      const [table, name] = tableOf(key);
      foreign[table].set(name, lines?.map(parseForeign));
    }
  }
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

function baseOf(jump: Jump): ChainKey {
  const [table, rule] = tableOf(jump);
  return `${table} ${rule.slice(0, rule.indexOf(" "))}`;
}

function targetOf(jump: Jump): ChainKey {
  const [table, rule] = tableOf(jump);
  return `${table} ${rule.slice(rule.lastIndexOf(" ") + 1)}`;
}
