import { systemClock } from "../../../common/clock.ts";
import { codeOf } from "../../../common/errors.ts";
import { TimeSlice } from "../../../common/event-loop.ts";
import { listTable } from "../../system/nft-table.ts";
import type { Element, SetLayout } from "../../system/nftables/element.ts";
import { allRules, type TableRules } from "../../system/nftables/listing.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { tableRules } from "../../system/nftables/table-rules.ts";
import { parseElement } from "../../system/nftables/text.ts";
import type { ReadScope } from "../dataplane.ts";
import { hooksOf } from "../nft/chains.ts";
import type { Held } from "../objects.ts";
import { isChainName, VERDICT_MAPS } from "./extra-chains.ts";
import {
  believedObjects,
  chainObjects,
  type Elements,
  isForeign,
  type Listing,
  markOf,
  replaced,
  serviceObjects,
} from "./listing.ts";
import { SETS, type SkeletonOptions, TABLE, tableOf } from "./sets.ts";
import { skeletonChains } from "./skeleton.ts";

type SetName = keyof typeof SETS;

/**
 * Reads back everything of ours; endpoints are not read if they are to be `believed` and each service has a digest of them. Rejects as
 * `listTable`, `tableRules` and `NftElements.list` do, and once `stop` is aborted.
 */
export async function readBack(
  options: SkeletonOptions,
  scope: ReadScope,
  stop?: AbortSignal,
): Promise<Held> {
  const { family } = options;
  try {
    if (scope === "gone")
      return chainObjects(options, { marks: marksOf(await tableRules(family, TABLE)) });
    const table = await tableRules(family, TABLE, HOOKS.keys());
    const elements = new NftElements(family, TABLE);
    const list = async (set: SetLayout) => {
      const found = await elements.list(set);
      stop?.throwIfAborted();
      return found;
    };
    return await tableObjects(options, table, list, scope);
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    return readAsText(options, stop);
  }
}

async function readAsText(options: SkeletonOptions, stop: AbortSignal | undefined): Promise<Held> {
  const table = await listTable(tableOf(options.family), false, stop);
  if (table === undefined) return new Map();
  const list = async (set: SetLayout) =>
    table.sets.get(set.name)?.map((one) => parseElement(set, one));
  return tableObjects(options, table, list, "all");
}

/** The objects of a table; `list`: the elements of a set, undefined if there is none. */
async function tableObjects(
  options: SkeletonOptions,
  table: TableRules,
  list: (set: SetLayout) => Promise<(Element | undefined)[] | undefined>,
  scope: "all" | "believed",
): Promise<Held> {
  const found = new Map<string, Elements | undefined>();
  const read = async (set: SetLayout) => void found.set(set.name, await list(set));
  for (const name of VERDICT_MAPS) await read({ name, key: ["number"] });
  const names = Object.keys(SETS) as SetName[];
  for (const name of names) if (name !== "endpoints") await read(SETS[name]);
  // It is there if the others are: what is believed is of a start.
  if (scope === "believed") found.set("endpoints", []);
  else await read(SETS.endpoints);
  const slice = new TimeSlice(systemClock);
  const listing = () =>
    Object.fromEntries(names.map((name) => [name, found.get(name) ?? []])) as unknown as Listing;
  let services = scope === "believed" ? await slice.run(believedObjects(listing())) : undefined;
  if (services === undefined) {
    if (scope === "believed") await read(SETS.endpoints);
    services = await slice.run(serviceObjects(listing()));
  }
  if (isForeign(listing()) || !isUsable(table)) return replaced(services);
  const marks = allRules({ ...table, rules: marksOf(table) }, HOOKS);
  const chains = chainObjects(options, { marks, elementsOf: (set) => found.get(set) });
  return new Map([...chains, ...services]);
}

/** The base chains, which depend on no option. */
const HOOKS = hooksOf(
  skeletonChains({
    ...{ family: "IPv4", clusterSetCidrs: [], affinity: "unsupported" },
    masquerade: { mode: "none", podCidrs: [] },
  }),
);

function marksOf({ rules, chains }: TableRules): readonly string[] {
  return rules.map((comment, i) => markOf(chains[i] ?? "", comment));
}

/**
 * A table with flags is replaced: in the transaction that makes a dormant one active, the kernel accepts no base chain. So is one with a chain whose name
 * cannot be written.
 */
function isUsable({ chains, hasFlags }: TableRules): boolean {
  return !hasFlags && chains.every((name) => name === "" || isChainName(name));
}
