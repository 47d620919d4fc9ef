import { type ForeignRule, parseForeign } from "./foreign-rule.ts";
import { concerns, obstacle, type Place, placeOf } from "./obstacle.ts";
import { obstacleText } from "./owner.ts";
import {
  BASES,
  baseOf,
  type ChainKey,
  digestOf,
  type Jump,
  type Table,
  tableOf,
} from "./tables.ts";

/** The rules of chains, each a line of iptables-save; undefined for a chain that there is not. */
export type Listing = ReadonlyMap<ChainKey, readonly string[] | undefined>;
/** True for rules that are to be listed. */
export type Keep = (line: string) => boolean;
/** Lists chains as they are now, in the spelling of iptables-save. Read-only. */
export type ListChains = (
  keys: readonly ChainKey[],
  keep: Keep,
  stop: AbortSignal | undefined,
) => Promise<Listing>;

/**
 * Chains of others that one judgement reads. More are a policy for each pod, in filter, and are then taken to let
 * through to us what they do not refuse; in nat they are taken for an obstacle.
 */
const MOST_CHAINS = 64;
/** Looks in a row that are content with an earlier judgement while what stands before our jumps is the same. */
const TRUSTED_LOOKS = 12;

/** A jump, and what stands before it. */
interface Case {
  readonly jump: Jump;
  readonly table: Table;
  readonly place: Place;
  readonly before: readonly ForeignRule[];
}

/**
 * Finds out which of our jumps stand behind a rule that takes their packets, and who has put it there. Where
 * others' jumps come before ours, it reads the chains that they lead to: kube-proxy's may hold 10,000 rules, and it
 * has its jump before ours on every node on which it started later. So what was found is trusted for a while.
 */
export class Judge {
  readonly #list: ListChains;
  /** `seen`: a digest of what was judged. */
  #trusted: { readonly seen: string; readonly behind: ReadonlyMap<Jump, string> } | undefined;
  #looks = 0;

  constructor(list: ListChains) {
    this.#list = list;
  }

  /** Judges jumps by themselves, however little has changed. */
  async afresh(jumps: readonly Jump[], stop?: AbortSignal): Promise<ReadonlyMap<Jump, string>> {
    const standing = jumps.filter((jump) => BASES.includes(baseOf(jump)));
    this.#trusted = undefined;
    if (standing.length === 0) return new Map();
    const bases = [...new Set(standing.map(baseOf))];
    return this.again(standing, await this.#list(bases, () => true, stop), stop);
  }

  /** `listing`: the kernel's own chains as they are now. */
  async again(
    jumps: readonly Jump[],
    listing: Listing,
    stop?: AbortSignal,
  ): Promise<ReadonlyMap<Jump, string>> {
    const ours = new Set(jumps);
    const bases = upToJumps(ours, listing);
    const seen = [...bases].map(([key, lines]) => `${key} ${digestOf(lines)}`).join("\n");
    if (this.#trusted?.seen === seen && ++this.#looks < TRUSTED_LOOKS) {
      return this.#trusted.behind;
    }
    const cases = [...bases].flatMap(([key, lines]) => casesOf(ours, key, lines));
    const behind = new Map<Jump, string>();
    // After DNAT, other rules of a chain count than before.
    const after = ({ place }: Case) => place.chain === "POSTROUTING";
    for (const table of ["filter", "nat"] as const) {
      const here = cases.filter((one) => one.table === table);
      const groups = [here.filter((one) => !after(one)), here.filter(after)];
      for (const group of groups) await this.#judge(table, group, behind, stop);
    }
    this.#trusted = { seen, behind };
    this.#looks = 0;
    return behind;
  }

  /** Puts into `behind` which jumps of the table are; chains that rules before them lead to are read on the way. */
  async #judge(
    table: Table,
    cases: readonly Case[],
    behind: Map<Jump, string>,
    stop: AbortSignal | undefined,
  ): Promise<void> {
    const chains = new Map<string, readonly ForeignRule[] | undefined>();
    const keep = (line: string) => {
      const rule = parseForeign(line);
      return cases.some(({ place }) => concerns(rule, place));
    };
    for (;;) {
      const needed = new Set<string>();
      const full = chains.size >= MOST_CHAINS;
      for (const { jump, place, before } of cases) {
        const { obstacle: found, unlisted } = obstacle(before, chains, place);
        const [unread] = table === "nat" && full ? unlisted.values() : [];
        if (found !== undefined) behind.set(jump, obstacleText(found));
        else if (unread !== undefined) {
          behind.set(jump, obstacleText({ rule: unread, taker: unread }));
        } else for (const name of unlisted.keys()) needed.add(name);
      }
      if (full || needed.size === 0) return;
      const keys = [...needed].slice(0, MOST_CHAINS).map((name): ChainKey => `${table} ${name}`);
      for (const [key, lines] of await this.#list(keys, keep, stop)) {
        chains.set(tableOf(key)[1], lines?.map(parseForeign));
      }
    }
  }
}

/** The kernel's own chains, each up to the last of these jumps in it. */
function upToJumps(jumps: ReadonlySet<Jump>, listing: Listing): Map<ChainKey, readonly string[]> {
  const bases = new Map<ChainKey, readonly string[]>();
  for (const key of new Set([...jumps].map(baseOf))) {
    const [table] = tableOf(key);
    const lines = listing.get(key) ?? [];
    const last = lines.findLastIndex((line) => jumps.has(`${table} ${line.slice(3)}`));
    bases.set(key, lines.slice(0, last + 1));
  }
  return bases;
}

/** The jumps of one chain, where each stands first. Its rules are read once for all: there may be thousands. */
function casesOf(jumps: ReadonlySet<Jump>, key: ChainKey, lines: readonly string[]): Case[] {
  const [table] = tableOf(key);
  const rules = lines.map(parseForeign);
  const cases = new Map<Jump, Case>();
  for (const [i, line] of lines.entries()) {
    const jump: Jump = `${table} ${line.slice(3)}`;
    if (!jumps.has(jump) || cases.has(jump)) continue;
    cases.set(jump, { jump, table, place: placeOf(jump), before: rules.slice(0, i) });
  }
  return [...cases.values()];
}
