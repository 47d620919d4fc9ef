import type { Family } from "../../../api/address.ts";

/** The supported tables, in the order of iptables-save. */
export const TABLES = ["filter", "nat"] as const;
/** One of `TABLES`. */
export type TableName = (typeof TABLES)[number];

/** The table and chain of a rule, which restrict its matches and targets. */
export interface Place {
  readonly family: Family;
  readonly table: TableName;
  hasChain(name: string): boolean;
}
