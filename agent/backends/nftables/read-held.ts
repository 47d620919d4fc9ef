import type { Family } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { listTable } from "../../system/nft-table.ts";
import { NftElements } from "../../system/nftables/nft-elements.ts";
import { parseElement } from "../../system/nftables/text.ts";
import type { HeldPort } from "../backend.ts";
import { heldPorts } from "./held.ts";
import { SETS, TABLE, tableOf } from "./sets.ts";

/** What the kernel holds for these services. Rejects as `listTable` and `NftElements.list` do. */
export async function readHeld(
  family: Family,
  services: readonly VirtualService[],
  stop?: AbortSignal,
): Promise<HeldPort[]> {
  if (services.length === 0) return [];
  try {
    const elements = new NftElements(family, TABLE);
    const heads = (await elements.list(SETS.services)) ?? [];
    return heldPorts(services, heads, (await elements.list(SETS.endpoints)) ?? []);
  } catch (error) {
    if (codeOf(error) !== "CSP_NETLINK_UNAVAILABLE") throw error;
    const table = await listTable(tableOf(family), false, stop);
    const parse = (set: "services" | "endpoints") =>
      (table?.sets.get(set) ?? []).map((one) => parseElement(SETS[set], one));
    return heldPorts(services, parse("services"), parse("endpoints"));
  }
}
