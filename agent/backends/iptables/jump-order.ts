import { type ForeignRule, parseForeign } from "./foreign-rule.ts";
import {
  BASES,
  baseOf,
  type ChainKey,
  type Jump,
  type Listing,
  type Table,
  tableOf,
} from "./object-id.ts";
import { shadowingText } from "./owner.ts";
import { digestOf } from "./rules.ts";
import { concerns, findShadowing, type Place, placeOf } from "./shadowing-rule.ts";

/** True for rules that are to be listed. */
type Keep = (line: string) => boolean;
/** Lists chains in the syntax of iptables-save. Read-only. */
export type ListChains = (
  keys: readonly ChainKey[],
  keep: Keep,
  stop: AbortSignal | undefined,
) => Promise<Listing>;

/**
 * The most foreign chains that one evaluation reads. More are per-pod policies in filter, which count as not shadowing; in nat,
 * unread chains count as one.
 */
const MOST_CHAINS = 64;
/** Checks in a row that reuse an evaluation while the rules before our jumps stay the same. */
const REUSED_CHECKS = 12;

/** A jump, and the rules before it. */
interface Case {
  readonly jump: Jump;
  readonly place: Place;
  readonly before: readonly ForeignRule[];
}

/**
 * Finds our jumps that are behind a rule which takes their packets, and the program that added it. For that it reads the
 * chains that foreign jumps before ours lead to. Kube-proxy's may hold 10,000 rules, so results are reused for a while.
 */
export class JumpOrder {
  readonly #list: ListChains;
  /** `seen`: a digest of the evaluated rules. */
  #trusted: { readonly seen: string; readonly behind: ReadonlyMap<Jump, string> } | undefined;
  #reused = 0;

  constructor(list: ListChains) {
    this.#list = list;
  }

  /** Evaluates jumps, or reuses an earlier result. `listing`: the built-in chains; jumps in other chains are skipped. */
  async evaluate(
    jumps: readonly Jump[],
    listing: Listing,
    stop?: AbortSignal,
  ): Promise<ReadonlyMap<Jump, string>> {
    const ours = new Set(jumps.filter((jump) => BASES.includes(baseOf(jump))));
    const bases = upToJumps(ours, listing);
    const seen = [...bases].map(([key, lines]) => `${key} ${digestOf(lines)}`).join("\n");
    if (this.#trusted?.seen === seen && ++this.#reused < REUSED_CHECKS) {
      return this.#trusted.behind;
    }
    const cases = [...bases].flatMap(([key, lines]) => casesOf(ours, key, lines));
    const behind = new Map<Jump, string>();
    // Other rules of a chain matter after DNAT than before.
    const after = ({ place }: Case) => place.chain === "POSTROUTING";
    for (const table of ["filter", "nat"] as const) {
      const here = cases.filter(({ place }) => place.table === table);
      const groups = [here.filter((one) => !after(one)), here.filter(after)];
      for (const group of groups) await this.#order(table, group, behind, stop);
    }
    this.#trusted = { seen, behind };
    this.#reused = 0;
    return behind;
  }

  /** Adds the jumps of the table that are behind a rule to `behind`; reads the chains that rules before them lead to. */
  async #order(
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
        const { shadowing: found, unlisted } = findShadowing(before, chains, place);
        const [unread] = table === "nat" && full ? unlisted.values() : [];
        if (found !== undefined) behind.set(jump, shadowingText(found));
        else if (unread !== undefined) {
          behind.set(jump, shadowingText({ rule: unread, taker: unread }));
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

/** The rules of the built-in chains, each up to the last of these jumps in it. */
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

/** The jumps of one chain, each at its first copy. The rules are parsed once, because there may be thousands. */
function casesOf(jumps: ReadonlySet<Jump>, key: ChainKey, lines: readonly string[]): Case[] {
  const [table] = tableOf(key);
  const rules = lines.map(parseForeign);
  const cases = new Map<Jump, Case>();
  for (const [i, line] of lines.entries()) {
    const jump: Jump = `${table} ${line.slice(3)}`;
    if (!jumps.has(jump) || cases.has(jump)) continue;
    cases.set(jump, { jump, place: placeOf(jump), before: rules.slice(0, i) });
  }
  return [...cases.values()];
}
