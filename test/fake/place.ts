import type { Family } from "../../api/address.ts";

/** The tables that the fake knows, in the order in which iptables-save prints them. */
export const TABLES = ["filter", "nat"] as const;
/** One of `TABLES`. */
export type TableName = (typeof TABLES)[number];

/** Where a rule stands: what it may say depends on both, and on which chains exist. */
export interface Place {
  readonly family: Family;
  readonly table: TableName;
  hasChain(name: string): boolean;
}
