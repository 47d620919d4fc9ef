import { createHash } from "node:crypto";

/** The tables that we write to. */
export const TABLES = ["filter", "nat"] as const;
/** One of `TABLES`. */
export type Table = (typeof TABLES)[number];

/** A chain of ours in the whole of iptables: `nat CSP-SVC-…`. */
export type ChainKey = `${Table} ${string}`;

/** A jump from a chain of the kernel into one of ours: the table, and the rule without `-A`. */
export type Jump = `${Table} ${string}`;

/** The rules of a chain, each a whole line; or how to make them, if there are too many to keep. */
export type Rules = readonly string[] | UnmadeRules;

/** Rules of which no more than the digest is kept. */
export interface UnmadeRules {
  readonly digest: string;
  /** Makes them; always the same. */
  lines(): readonly string[];
}

/** What the kernel should hold. */
export interface Changes {
  /** True if `chains` names everything that is wanted; else it names what may differ from before. */
  readonly complete: boolean;
  /** Rules by chain; undefined for a chain that is not wanted any more. */
  readonly chains: ReadonlyMap<ChainKey, Rules | undefined>;
  /** Chains that stay as they are, whether they are there or not. */
  readonly kept?: ReadonlySet<ChainKey>;
  /** All the jumps that are wanted, in the order in which they should stand; undefined if unchanged. */
  readonly jumps?: readonly Jump[];
}

/**
 * What the agent thinks the kernel holds. Of a chain's rules only a digest is kept: at 10,000 services their
 * text would be the largest thing in memory.
 */
export interface Believed {
  readonly chains: Map<ChainKey, string>;
  /** As found, foreign order and doubles included. */
  jumps: readonly Jump[];
  /**
   * Jumps that stand behind a rule which takes their packets, and who has put it there. Others insert at the head,
   * too: a jump that is only not the first is as good.
   */
  behind?: ReadonlyMap<Jump, string>;
}

/** The kernel's own chains in which jumps of ours stand. */
export const BASES: readonly ChainKey[] = [
  "filter FORWARD",
  "filter OUTPUT",
  "nat PREROUTING",
  "nat OUTPUT",
  "nat POSTROUTING",
];

/** Splits a key or a jump into the table and the rest. */
export function tableOf(key: `${Table} ${string}`): [table: Table, rest: string] {
  const space = key.indexOf(" ");
  return [key.slice(0, space) === "nat" ? "nat" : "filter", key.slice(space + 1)];
}

/** The chain that a jump stands in. */
export function baseOf(jump: Jump): ChainKey {
  const [table, rule] = tableOf(jump);
  return `${table} ${rule.slice(0, rule.indexOf(" "))}`;
}

/** The digest of a chain's rules, as `Believed` keeps it. */
export function digestOf(rules: Rules): string {
  if ("digest" in rules) return rules.digest;
  return createHash("sha256").update(rules.join("\n")).digest("base64").slice(0, 22);
}

/** The lines of rules, made or unmade. */
export function linesOf(rules: Rules): readonly string[] {
  return "digest" in rules ? rules.lines() : rules;
}
