import { FAMILIES, type Family } from "../../../api/address.ts";
import { type Cidr, contains } from "../../../api/cidr.ts";
import { codeOf } from "../../../common/errors.ts";
import { hasInterface } from "../../system/addresses.ts";
import { IpvsTable } from "../../system/ipvs/ipvs-table.ts";
import type { Server } from "../../system/ipvs/object.ts";
import { DummyDevice } from "../../system/link/dummy-device.ts";
import type { Link } from "../../system/link/encoding.ts";
import { renderUnbound, tableOf } from "./guard.ts";
import { listGuard } from "./list.ts";
import { DEVICE, isVip } from "./read.ts";
import { nft } from "./restore.ts";
import { isMarked, serverKey, vipOf } from "./state.ts";

/** Where to look, and what stays. */
export interface RemoveOptions {
  /** The ClusterSet CIDRs, as far as anybody said. */
  readonly ranges: readonly Cidr[];
  /** True if the other family uses the device, which therefore stays. */
  readonly keepDevice?: boolean;
  /** Ends the reading back, so that nothing is removed; not the removal. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Removes exactly what is ours of one family, and returns how many objects that were: 0 the second time. Ours are the
 * virtual servers with our mark on VIPs of our device or of our table, or in `ranges`, where these are known: somebody may
 * have deleted device and table. Nothing is flushed. First others may translate VIPs
 * again: where another backend has its rules, connections go by these from then on. Then addresses go, so that nothing of
 * the node is open on them for a moment, and the guard last. Connections through the servers end. Needs no memory of what
 * was programmed. Rejects as reading back does, also for want of a tool if there is something to remove.
 */
export async function removeOwn(
  family: Family,
  { ranges, keepDevice = false, stop }: RemoveOptions,
): Promise<number> {
  const device = new DummyDevice(DEVICE);
  let found: Link | undefined;
  try {
    found = await device.find();
  } catch (error) {
    // Who has no netlink has not written by it; another agent of ours may have.
    if (codeOf(error) === "CSP_NETLINK_UNAVAILABLE" && !hasInterface(DEVICE)) return 0;
    throw error;
  }
  const vips = (await device.addresses(family)).filter(isVip);
  const guard = await missingIsNone(listGuard(family, "elements", stop), found === undefined);
  if (stop?.aborted) return 0;
  const served = guard?.sets.served ?? new Map();
  const named = new Set([
    ...vips,
    ...[...served.keys()].map(vipOf),
    ...(guard?.sets.explicit ?? []),
  ]);
  const isOwn = (one: Server) => {
    const { address: hex } = one;
    const within = ranges.some((range) => contains(range, { family, text: "", hex }));
    if (one.family !== family || !(named.has(hex) || within)) return false;
    return isMarked(one) || served.has(serverKey(one));
  };
  const tables = guard?.tables ?? [];
  if (tables.includes(tableOf(family))) await nft(renderUnbound(family));
  await device.delete(family, vips);
  const servers = named.size + ranges.length > 0 ? await removeServers(isOwn) : 0;
  if (tables.length > 0) await nft(tables.map((name) => `delete table ${name}\n`).join(""));
  const left = await Promise.all(FAMILIES.map((each) => device.addresses(each)));
  const isIdle = found !== undefined && !keepDevice && !left.flat().some(isVip);
  const empty = isIdle && (await device.remove());
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

/** A kernel without IPVS has nothing of ours; nor has a node without nft or nf_tables, if our device is `absent`. */
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
