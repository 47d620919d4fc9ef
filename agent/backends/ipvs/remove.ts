import { FAMILIES, type Family } from "../../../api/address.ts";
import { codeOf } from "../../../common/errors.ts";
import { isMarked } from "../../system/ipvs/encoding.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import { tableOf } from "./guard.ts";
import { listGuard } from "./list.ts";
import { DEVICE, isVip } from "./read.ts";
import { nft } from "./restore.ts";
import { vipOf } from "./state.ts";

/**
 * Removes exactly what is ours of these families, and returns how many objects that were: 0 the second time. Ours are the
 * virtual servers with our mark, on our device or among those that our table names; nothing is flushed. Addresses go
 * first, so that nothing of the node is open on them for a moment, and the guard last. Connections through the servers
 * end. Needs no memory of what was programmed. Rejects as reading back does.
 */
export async function removeOwn(
  families: readonly Family[] = FAMILIES,
  stop?: AbortSignal,
): Promise<number> {
  const device = new DummyDevice(DEVICE);
  let removed = 0;
  for (const family of families) {
    const vips = (await device.addresses(family)).filter(isVip);
    const guard = await missingIsNone(listGuard(family, "elements", stop));
    if (stop?.aborted) return removed;
    const named = new Set([...vips, ...[...(guard?.sets.served.keys() ?? [])].map(vipOf)]);
    await device.delete(family, vips);
    removed += vips.length;
    if (named.size > 0) removed += await removeServers(family, named);
    if (guard === undefined) continue;
    await nft(`delete table ${tableOf(family)}\n`);
    removed += guard.rules.length;
  }
  const left = await Promise.all(FAMILIES.map((family) => device.addresses(family)));
  if (!left.flat().some(isVip) && (await device.remove())) removed++;
  return removed;
}

async function removeServers(family: Family, vips: ReadonlySet<string>): Promise<number> {
  const table = new IpvsTable();
  const servers = await missingIsNone(table.servers());
  const ours = (servers ?? []).filter(
    (one) => one.family === family && vips.has(one.address) && isMarked(one),
  );
  await table.run(ours.map((server) => ({ kind: "delete-server", server })));
  return ours.length;
}

/** A kernel without IPVS, and a node without nft, have nothing of ours. */
async function missingIsNone<Found>(found: Promise<Found>): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    const code = codeOf(error);
    if (code === "CSP_IPVS_MISSING" || code === "CSP_EXEC_MISSING") return undefined;
    throw error;
  }
}
