import type { Family } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import { listTable } from "../../system/nft-table.ts";
import type { Element } from "../../system/nftables/element.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { parseElement } from "../../system/nftables/text.ts";
import { SETS, TABLE, tableOf } from "./sets.ts";
import { contentOf, digestOf, type KernelState, lastFields, nothing, splitKey } from "./state.ts";

type SetName = keyof typeof SETS;

/** The elements of our sets; undefined for one that does not have the fields of its set. */
export type Listing = Readonly<Record<SetName, readonly (Element | undefined)[]>>;

/** Reads back everything of ours. Rejects as `listTable` and `NftElements.list` do, and once `stop` is aborted. */
export async function readBack(family: Family, stop?: AbortSignal): Promise<KernelState> {
  const table = await listTable(tableOf(family), true, stop);
  if (table === undefined) return nothing();
  try {
    const elements = new NftElements(family, TABLE);
    return stateOf(await listing((name) => elements.list(SETS[name]), stop), table.rules);
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
  return stateOf(await listing(async (name) => parse(name), stop), table.rules);
}

async function listing(
  list: (name: SetName) => Promise<readonly (Element | undefined)[]>,
  stop: AbortSignal | undefined,
): Promise<Listing> {
  const found = new Map<SetName, readonly (Element | undefined)[]>();
  for (const name of Object.keys(SETS) as SetName[]) {
    found.set(name, await list(name));
    stop?.throwIfAborted();
  }
  return Object.fromEntries(found) as Listing;
}

/** The state of a kernel with these elements, and rules with these comments. PURE. */
export function stateOf(listing: Listing, rules: readonly string[]): KernelState {
  const state = nothing();
  state.rules = [...rules].sort();
  state.foreign = Object.values(listing).some((some) => some.includes(undefined));
  const [endpoints, choices] = [byService(listing.endpoints), byService(listing.choices)];
  const [heads, affinity] = [contents(listing.services), contents(listing.affinity)];
  const keys = new Set([heads, affinity, endpoints, choices].flatMap((some) => [...some.keys()]));
  for (const key of keys) {
    const [targets, chosen] = [endpoints.get(key) ?? [], choices.get(key) ?? []];
    state.services.set(key, {
      head: heads.get(key),
      affinity: affinity.get(key),
      endpoints: lastFields(targets),
      choices: lastFields(chosen),
      digest: digestOf(targets, chosen),
    });
  }
  for (const one of listing.explicit) if (one) state.explicit.add(one.key);
  for (const one of listing.hairpins) {
    const [address = "", again] = one?.key.split(" ") ?? [];
    if (address === again) state.hairpins.add(address);
    else state.foreign = true;
  }
  return state;
}

function byService(elements: readonly (Element | undefined)[]): Map<string, Element[]> {
  const found = new Map<string, Element[]>();
  for (const element of elements) {
    if (element === undefined) continue;
    const [service] = splitKey(element.key);
    const same = found.get(service);
    if (same === undefined) found.set(service, [element]);
    else same.push(element);
  }
  return found;
}

function contents(elements: readonly (Element | undefined)[]): Map<string, string> {
  return new Map(elements.flatMap((one) => (one ? [[one.key, contentOf(one)] as const] : [])));
}
