import { FAMILIES, type Family } from "../../../api/address.ts";
import { type Cidr, containsAny } from "../../../api/cidr.ts";
import { codeOf } from "../../../common/errors.ts";
import { serviceKey } from "../../plan/virtual-service.ts";
import { hasInterface } from "../../system/addresses.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import type { Server } from "../../system/ipvs/object.ts";
import type { Link } from "../../system/link/encoding.ts";
import { nft } from "./apply.ts";
import { guardTable, renderUnbound } from "./nft-tables.ts";
import { listGuard, vipDevice } from "./read.ts";
import { isMarked } from "./vip.ts";

/** What to remove. */
export interface RemoveOptions {
  /** The ClusterSet CIDRs, if known. */
  readonly ranges: readonly Cidr[];
  /** True if the other family uses the device, which therefore stays. */
  readonly keepDevice?: boolean;
  /** Ends the reading back, so that nothing is removed; not the removal. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Removes all objects of ours in one family, and returns their number: 0 the second time. Ours are the virtual servers with our
 * flag on VIPs of our device or table, or in `ranges`, because other programs may have deleted the device and the table.
 *
 * The rules that keep other programs from translating VIPs are removed first, so that another backend takes over new connections;
 * then the addresses, so that no local program can be reached at them; the guard last. Established connections end. Rejects as
 * reading back does, also if a tool is missing and there is something to remove.
 */
export async function removeOwn(
  family: Family,
  { ranges, keepDevice = false, stop }: RemoveOptions,
): Promise<number> {
  let found: Link | undefined;
  try {
    found = await vipDevice.find();
  } catch (error) {
    // Without netlink this agent has programmed nothing, but an earlier one may have.
    if (codeOf(error) === "CSP_NETLINK_UNAVAILABLE" && !hasInterface(vipDevice.name)) return 0;
    throw error;
  }
  const vips = await vipDevice.addresses(family);
  const guard = await missingIsNone(listGuard(family, "elements", stop), found === undefined);
  if (stop?.aborted) return 0;
  const served = guard?.sets.served ?? new Map();
  const named = new Set([
    ...vips,
    ...[...served.keys()].map((key) => key.slice(0, key.indexOf(" "))),
    ...(guard?.sets.explicit ?? []),
  ]);
  const isOwn = (one: Server) => {
    const { address: hex } = one;
    const within = containsAny(ranges, { family, text: "", hex });
    if (one.family !== family || !(named.has(hex) || within)) return false;
    return isMarked(one) || served.has(serviceKey(one));
  };
  const tables = guard?.tables ?? [];
  if (tables.includes(guardTable(family))) await nft(renderUnbound(family));
  await vipDevice.delete(family, vips);
  const servers = named.size + ranges.length > 0 ? await removeServers(isOwn) : 0;
  if (tables.length > 0) await nft(tables.map((name) => `delete table ${name}\n`).join(""));
  const left = await Promise.all(FAMILIES.map((each) => vipDevice.addresses(each)));
  const isIdle = found !== undefined && !keepDevice && left.flat().length === 0;
  const empty = isIdle && (await vipDevice.remove());
  return vips.length + servers + tables.length + (empty ? 1 : 0);
}

async function removeServers(isOwn: (server: Server) => boolean): Promise<number> {
  const table = new IpvsTable();
  if (!table.loaded) return 0;
  const servers = await missingIsNone(table.servers());
  const ours = (servers ?? []).filter(isOwn);
  await table.run(ours.map((server) => ({ kind: "delete-server", server })));
  return ours.length;
}

/** Undefined on a kernel without IPVS; also on a node without nft or nf_tables, if our device is `absent`. */
async function missingIsNone<Found>(
  found: Promise<Found>,
  absent = false,
): Promise<Found | undefined> {
  try {
    return await found;
  } catch (error) {
    const code = codeOf(error);
    if (code === "CSP_IPVS_MISSING") return undefined;
    if (absent && (code === "CSP_EXEC_MISSING" || code === "CSP_EXEC_FAILED")) return undefined;
    throw error;
  }
}
