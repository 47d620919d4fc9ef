import { setsOf } from "../../agent/backends/ipvs/list.ts";
import type { GuardSets } from "../../agent/backends/ipvs/state.ts";
import { parseTable } from "../../agent/system/nftables/listing.ts";

/** One of our tables, from the output of `nft -j list table`; undefined if that is malformed. */
export function parseListing(
  text: string,
): { sets: GuardSets; rules: readonly string[] } | undefined {
  const table = parseTable(text);
  return table && { sets: setsOf(table), rules: table.rules };
}
