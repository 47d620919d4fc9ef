import type { Family } from "../../../api/address.ts";
import { systemClock } from "../../../common/clock.ts";
import { codeOf } from "../../../common/errors.ts";
import { TimeSlice } from "../../../common/event-loop.ts";
import { listTable } from "../../system/nft-table.ts";
import type { Element } from "../../system/nftables/element.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { ruleComments } from "../../system/nftables/rule-comments.ts";
import { parseElement } from "../../system/nftables/text.ts";
import { believedState, type Listing, stateOf } from "./listing.ts";
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
    const list = (name: SetName) => elements.list(SETS[name]);
    const others = await listing((name) => (name === "endpoints" ? [] : list(name)), stop);
    const slice = new TimeSlice(systemClock);
    const believed =
      endpoints === "believed" ? await slice.run(believedState(others, rules)) : undefined;
    if (believed !== undefined) return believed;
    return await slice.run(stateOf({ ...others, endpoints: await list("endpoints") }, rules));
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
  return slice.run(stateOf(await listing(parse, stop), table.rules));
}

type Elements = readonly (Element | undefined)[];

async function listing(
  list: (name: SetName) => Promise<Elements> | Elements,
  stop: AbortSignal | undefined,
): Promise<Listing> {
  const found = new Map<SetName, Elements>();
  for (const name of Object.keys(SETS) as SetName[]) {
    found.set(name, await list(name));
    stop?.throwIfAborted();
  }
  return Object.fromEntries(found) as Listing;
}
