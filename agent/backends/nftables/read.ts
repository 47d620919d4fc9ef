import type { Family } from "../../../api/address.ts";
import { systemClock } from "../../../common/clock.ts";
import { codeOf } from "../../../common/errors.ts";
import { TimeSlice } from "../../../common/event-loop.ts";
import { listTable } from "../../system/nft-table.ts";
import type { Element, SetLayout } from "../../system/nftables/element.ts";
import { allRules, type TableRules } from "../../system/nftables/listing.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { tableRules } from "../../system/nftables/table-rules.ts";
import { parseElement } from "../../system/nftables/text.ts";
import { hooksOf } from "../nft/chains.ts";
import { branchTo, SHARED_MAPS, VERDICT_MAPS } from "./extra-chains.ts";
import { believedState, type Listing, stateOf } from "./listing.ts";
import { chainOf, isChainName, markOf, unusedMark } from "./marks.ts";
import { SETS, TABLE, tableOf } from "./sets.ts";
import { skeletonChains } from "./skeleton.ts";
import { type KernelState, nothing } from "./state.ts";

type SetName = keyof typeof SETS;

/**
 * Reads back everything of ours; endpoints are not read if they are to be `believed` and each service has a digest of them. Rejects as
 * `listTable`, `tableRules` and `NftElements.list` do, and once `stop` is aborted.
 */
export async function readBack(
  family: Family,
  endpoints: "read" | "believed",
  stop?: AbortSignal,
): Promise<KernelState> {
  try {
    const table = await tableRules(family, TABLE, HOOKS.keys());
    const elements = new NftElements(family, TABLE);
    const sets = new Map<string, Elements | undefined>();
    const list = async (set: SetLayout) => {
      const found = await elements.list(set);
      sets.set(set.name, found);
      stop?.throwIfAborted();
      return found ?? [];
    };
    const others = await listing((name) => list(SETS[name]), "endpoints");
    for (const name of VERDICT_MAPS) await list(verdicts(name));
    const slice = new TimeSlice(systemClock);
    // It is there if the others are: a believed state is of a start.
    const marks = (isRead: boolean) =>
      marksIn(table, (set) => (set === "endpoints" && !isRead ? [] : sets.get(set)));
    const believed =
      endpoints === "believed" ? await slice.run(believedState(others, marks(false))) : undefined;
    if (believed !== undefined) return usable(believed, table);
    const all = { ...others, endpoints: await list(SETS.endpoints) };
    return usable(await slice.run(stateOf(all, marks(true))), table);
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    return readAsText(family, stop);
  }
}

/** The comments of the rules of our table, as a state has them. Rejects as `readBack` does. */
export async function listRules(family: Family, stop?: AbortSignal): Promise<readonly string[]> {
  try {
    const table = await tableRules(family, TABLE);
    stop?.throwIfAborted();
    return ruleMarks(table);
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    return (await readAsText(family, stop)).rules;
  }
}

async function readAsText(family: Family, stop: AbortSignal | undefined): Promise<KernelState> {
  const table = await listTable(tableOf(family), false, stop);
  if (table === undefined) return nothing();
  const sets = new Map<string, Elements | undefined>();
  for (const set of [...Object.values<SetLayout>(SETS), ...VERDICT_MAPS.map(verdicts)])
    sets.set(
      set.name,
      table.sets.get(set.name)?.map((one) => parseElement(set, one)),
    );
  const slice = new TimeSlice(systemClock);
  const marks = marksIn(table, (set) => sets.get(set));
  const all = await listing((name) => sets.get(name) ?? []);
  return usable(await slice.run(stateOf(all, marks)), table);
}

/** The base chains, which depend on no option. */
const HOOKS = hooksOf(
  skeletonChains({
    ...{ family: "IPv4", clusterSetCidrs: [], affinity: "unsupported" },
    masquerade: { mode: "none", podCidrs: [] },
  }),
);

function marksIn(table: TableRules, elementsOf: (set: string) => Elements | undefined) {
  return withGaps(allRules({ ...table, rules: ruleMarks(table) }, HOOKS), elementsOf);
}

function ruleMarks({ rules, chains }: TableRules): readonly string[] {
  return rules.map((comment, i) => markOf(chains[i] ?? "", comment));
}

/**
 * A table with flags is replaced: in the transaction that makes a dormant one active, the kernel accepts no base chain. So is one with a chain whose name
 * cannot be written.
 */
function usable(state: KernelState, { chains, hasFlags }: TableRules): KernelState {
  state.foreign ||= hasFlags || !chains.every((name) => name === "" || isChainName(name));
  return state;
}

/** The layout of a map of verdicts. */
function verdicts(name: string): SetLayout {
  return { name, key: ["number"] };
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

/** In place of a rule's comment: says that something is missing that no rule shows, so that the table is not whole. */
const GAP = "gap 1 -";

/**
 * The comments of a table's rules, and `GAP` if a set is missing, or a map of verdicts leads to other chains than there are, or by other numbers. `elementsOf`: the
 * elements of a set; undefined if there is none. PURE.
 */
export function withGaps(
  rules: readonly string[],
  elementsOf: (set: string) => Elements | undefined,
): readonly string[] {
  if (rules.length === 0) return rules;
  const chains = new Set(rules.filter((mark) => mark !== unusedMark(chainOf(mark))).map(chainOf));
  const branches = Map.groupBy(
    [...chains].flatMap((chain) => branchTo(chain) ?? []),
    ({ map }) => map,
  );
  // A table of an earlier release has none of them, and needs none until it has such a chain.
  const isEarlier = SHARED_MAPS.every((map) => elementsOf(map) === undefined);
  const hasSets = Object.keys(SETS).every((set) => elementsOf(set) !== undefined);
  const areWhole = VERDICT_MAPS.every((map) => {
    const desired = branches.get(map) ?? [];
    const found = elementsOf(map);
    if (found === undefined) return isEarlier && SHARED_MAPS.includes(map) && desired.length === 0;
    const verdictBy = new Map(found.map((one) => [one?.key, one?.value]));
    return (
      found.length === desired.length &&
      desired.every(({ number, verdict }) => verdictBy.get(`${number}`) === verdict)
    );
  });
  return hasSets && areWhole ? rules : [...rules, GAP];
}
