import { OWN } from "./chain-name.ts";

/** The tables that we write to. */
export const TABLES = ["filter", "nat"] as const;
/** One of `TABLES`. */
export type Table = (typeof TABLES)[number];

/** A chain with its table: `nat CSP-SVC-…`. Also the ID of a chain of ours. */
export type ChainKey = `${Table} ${string}`;

/** A jump from another chain to one of ours: the table, and the rule without `-A`. Also its ID. */
export type Jump = `${Table} ${string}`;

/** The rules of chains, each a line of iptables-save; undefined for a chain that does not exist. */
export type Listing = ReadonlyMap<ChainKey, readonly string[] | undefined>;

/** The built-in chains that have jumps of ours. */
export const BASES: readonly ChainKey[] = [
  "filter FORWARD",
  "filter OUTPUT",
  "nat PREROUTING",
  "nat OUTPUT",
  "nat POSTROUTING",
];

/** Splits an ID into the table and the rest. */
export function tableOf(id: string): [table: Table, rest: string] {
  const space = id.indexOf(" ");
  return [id.slice(0, space) === "nat" ? "nat" : "filter", id.slice(space + 1)];
}

/** The chain that contains a jump. */
export function baseOf(jump: string): ChainKey {
  const [table, rule] = tableOf(jump);
  return `${table} ${rule.slice(0, rule.indexOf(" "))}`;
}

/** True for the ID of a jump, false for that of a chain. */
export function isJump(id: string): id is Jump {
  return !id.startsWith(OWN, id.indexOf(" ") + 1);
}
