import { type Family, isAddress, parseAddress } from "../../../api/address.ts";
import { isProtocol } from "../../../api/protocol.ts";
import { listTable } from "../../system/nft-table.ts";
import { allRules, type NftElement, type NftTable } from "../../system/nftables/listing.ts";
import { serviceKey } from "../nft/service-key.ts";
import { hooksIn, tablesOf } from "./nft-tables.ts";
import { type GuardSets, noSets } from "./state.ts";

/** Our tables of one family. */
export interface GuardListing {
  readonly sets: GuardSets;
  /** The comments of all rules in their order; a rule without one, or what no rule shows, is an empty text. */
  readonly rules: readonly string[];
  /** The names of the tables that exist. */
  readonly tables: readonly string[];
}

/**
 * Reads our tables. `elements`: whether to read the elements of sets, too. Without the guard there are no rules. Rejects as
 * `listTable` does.
 */
export async function listGuard(
  family: Family,
  elements: "elements" | "rules",
  stop?: AbortSignal,
): Promise<GuardListing> {
  const names = tablesOf(family);
  const terse = elements === "rules";
  const [guard, arp] = await Promise.all(names.map((name) => listTable(name, terse, stop)));
  const tables = names.filter((_, i) => [guard, arp][i] !== undefined);
  if (guard === undefined) return { sets: noSets(), rules: [], tables };
  const sets = setsOf(guard);
  const [guardRules = [], arpRules = []] = [guard, arp].map(
    (one, i) => one && allRules(one, hooksIn(names[i] ?? "", family)),
  );
  if (arp === undefined) return { sets, rules: guardRules, tables };
  const rules = [...guardRules, ...arpRules];
  // Both are written together, so a difference means that another program changed one.
  const differs = setsOf(arp).explicit.symmetricDifference(sets.explicit).size > 0;
  return { sets, rules: differs ? [...rules, ""] : rules, tables };
}

/** The elements of the sets of a table. PURE. */
export function setsOf({ sets: found }: NftTable): GuardSets {
  const sets = noSets();
  for (const [name, elements] of found) for (const element of elements) put(sets, name, element);
  return sets;
}

/** Skips elements that are not ours: writing the table again deletes them. */
function put(sets: GuardSets, name: string, { fields, comment }: NftElement): void {
  const [first, second, port] = fields;
  const address = parseAddress(String(first));
  if (!isAddress(address)) return;
  if (name === "explicit") sets.explicit.add(address.hex);
  const protocol = String(second).toUpperCase();
  if (name !== "served" || !isProtocol(protocol) || typeof port !== "number") return;
  sets.served.set(serviceKey({ address: address.hex, protocol, port }), comment);
}
