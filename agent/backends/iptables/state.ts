import { createHash } from "node:crypto";
import type { ObjectKey } from "../../../api/names.ts";

/** The tables that we write to. */
export const TABLES = ["filter", "nat"] as const;
/** One of `TABLES`. */
export type Table = (typeof TABLES)[number];

/** A chain with its table: `nat CSP-SVC-…`. */
export type ChainKey = `${Table} ${string}`;

/** A jump from another chain to one of ours: the table, and the rule without `-A`. */
export type Jump = `${Table} ${string}`;

/** The rules of a chain, each a whole line; or a way to render them, if there are too many to keep. */
export type Rules = readonly string[] | UnmadeRules;

/** Rules of which only the digest is kept. */
export interface UnmadeRules {
  readonly digest: string;
  /** Renders them; the result is always the same. */
  lines(): readonly string[];
}

/** The rules of a chain; `kept` if it stays as it is, whether it exists or not; undefined if it is no longer desired. */
export type DesiredChain = Rules | "kept" | undefined;

/** What the kernel should hold. */
export interface Changes {
  /** True if `chains` has all desired chains; else it has those that may differ from before. */
  readonly complete: boolean;
  readonly chains: ReadonlyMap<ChainKey, DesiredChain>;
  /** All desired jumps, in order; undefined if unchanged. */
  readonly jumps?: readonly Jump[];
}

/** The cached state of the kernel. */
export interface KernelState {
  /** Digests of the rules, by chain: their text would need too much memory. */
  readonly chains: Map<ChainKey, string>;
  /** The import of each VIP, protocol and port (`f1000001 UDP 53`), by the rules that were read back; not updated. */
  readonly entries?: Map<string, ObjectKey>;
  /** In the order of the kernel, with duplicates. */
  jumps: readonly Jump[];
  /** Jumps behind a rule that takes their packets, with that rule's owner. */
  behind?: ReadonlyMap<Jump, string>;
}

/** The rules of chains, each a line of iptables-save; undefined for a chain that does not exist. */
export type Listing = ReadonlyMap<ChainKey, readonly string[] | undefined>;

/** What the kernel was found to hold. */
export interface Found {
  /** Everything of ours. */
  readonly state: KernelState;
  /** The built-in chains that have jumps of ours, with all rules. */
  readonly bases: Listing;
}

/** The built-in chains that have jumps of ours. */
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

/** The chain that contains a jump. */
export function baseOf(jump: Jump): ChainKey {
  const [table, rule] = tableOf(jump);
  return `${table} ${rule.slice(0, rule.indexOf(" "))}`;
}

/** The digest of a chain's rules, as `KernelState` keeps it. */
export function digestOf(rules: Rules): string {
  if ("digest" in rules) return rules.digest;
  return createHash("sha256").update(rules.join("\n")).digest("base64").slice(0, 22);
}

/** The lines of rules, rendered if necessary. */
export function linesOf(rules: Rules): readonly string[] {
  return "digest" in rules ? rules.lines() : rules;
}
