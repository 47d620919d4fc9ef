import type { Family } from "../../../api/address.ts";
import { systemClock } from "../../../common/clock.ts";
import { codeOf } from "../../../common/errors.ts";
import { TimeSlice } from "../../../common/event-loop.ts";
import { listTable } from "../../system/nft-table.ts";
import type { Element, SetLayout } from "../../system/nftables/element.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { ruleComments } from "../../system/nftables/rule-comments.ts";
import { parseElement } from "../../system/nftables/text.ts";
import { SHARED_MAPS } from "./extra-chains.ts";
import { believedState, type Listing, stateOf } from "./listing.ts";
import { chainOf, unusedMark } from "./marks.ts";
import { SETS, TABLE, tableOf } from "./sets.ts";
import { type KernelState, nothing } from "./state.ts";

type SetName = keyof typeof SETS;

/**
 * Reads back everything of ours; endpoints are not read if they are to be `believed` and each service has a digest of them. Rejects as
 * `listTable`, `ruleComments` and `NftElements.list` do, and once `stop` is aborted.
 */
export async function readBack(
  family: Family,
  endpoints: "read" | "believed",
  stop?: AbortSignal,
): Promise<KernelState> {
  try {
    const rules = await ruleComments(family, TABLE);
    const elements = new NftElements(family, TABLE);
    const sizes = new Map<string, number | undefined>();
    const list = async (set: SetLayout) => {
      const found = await elements.list(set);
      sizes.set(set.name, found?.length);
      stop?.throwIfAborted();
      return found ?? [];
    };
    const others = await listing((name) => list(SETS[name]), "endpoints");
    // Of these, their number is enough.
    for (const name of VERDICT_MAPS) await list({ name, key: ["number"] });
    const slice = new TimeSlice(systemClock);
    // It is there if the others are: a believed state is of a start.
    const marks = (isRead: boolean) =>
      withGaps(rules, (set) => (set === "endpoints" && !isRead ? 0 : sizes.get(set)));
    const believed =
      endpoints === "believed" ? await slice.run(believedState(others, marks(false))) : undefined;
    if (believed !== undefined) return believed;
    const all = { ...others, endpoints: await list(SETS.endpoints) };
    return await slice.run(stateOf(all, marks(true)));
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    return readAsText(family, stop);
  }
}

async function readAsText(family: Family, stop: AbortSignal | undefined): Promise<KernelState> {
  const table = await listTable(tableOf(family), false, stop);
  if (table === undefined) return nothing();
  const parse = (name: SetName) =>
    (table.sets.get(name) ?? []).map((one) => parseElement(SETS[name], one));
  const slice = new TimeSlice(systemClock);
  const marks = withGaps(table.rules, (set) => table.sets.get(set)?.length);
  return slice.run(stateOf(await listing(parse), marks));
}

type Elements = readonly (Element | undefined)[];

/** `without`: a set that is left empty. */
async function listing(
  list: (name: SetName) => Promise<Elements> | Elements,
  without?: SetName,
): Promise<Listing> {
  const found = new Map<SetName, Elements>();
  for (const name of Object.keys(SETS) as SetName[])
    found.set(name, name === without ? [] : await list(name));
  return Object.fromEntries(found) as Listing;
}

/** The map of verdicts that leads to a chain of this name, one element for each chain. */
const LEADS: readonly (readonly [name: RegExp, map: string])[] = [
  [/^pick-\d+$|^share-\d+$/, "picks"],
  [/^hash-\d+$|^hash-share-\d+$/, "hashes"],
  [/^draw-\d+$|^draw-share-\d+$/, "draws"],
  [/^sticky-\d+$/, "timeouts"],
  [/^pick-\d+-of-\d+$/, "groups"],
  [/^hash-\d+-of-\d+$/, "hash-groups"],
  [/^draw-\d+-of-\d+$/, "draw-groups"],
];

/** Sets of which nothing but their existence, or the number of elements, is compared. */
const VERDICT_MAPS: readonly string[] = LEADS.map(([, map]) => map);

/** In place of a rule's comment: says that something is missing that no rule shows, so that the table is not whole. */
const GAP = "gap 1 -";

/**
 * The comments of a table's rules, and `GAP` if a set is missing, or a map that leads to chains has fewer or more elements than there are chains. `sizeOf`: the number
 * of elements of a set; undefined if there is none. PURE.
 */
export function withGaps(
  rules: readonly string[],
  sizeOf: (set: string) => number | undefined,
): readonly string[] {
  if (rules.length === 0) return rules;
  const chains = new Set(rules.filter((mark) => mark !== unusedMark(chainOf(mark))).map(chainOf));
  // A table of an earlier release has none of them, and needs none until it has such a chain.
  const isEarlier = SHARED_MAPS.every((map) => sizeOf(map) === undefined);
  const isGood = (map: string, count: number): boolean => {
    const size = sizeOf(map);
    return size === undefined
      ? isEarlier && SHARED_MAPS.includes(map) && count === 0
      : size === count;
  };
  const hasSets = Object.keys(SETS).every((set) => sizeOf(set) !== undefined);
  const areWhole = LEADS.every(([name, map]) => {
    const led = chains.values().filter((chain) => name.test(chain));
    return isGood(map, [...led].length);
  });
  return hasSets && areWhole ? rules : [...rules, GAP];
}
