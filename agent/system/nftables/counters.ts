import type { Family } from "../../../api/address.ts";
import { attribute, locate } from "../netlink/attributes.ts";
import { NETLINK, NetlinkSocket, rejected } from "../netlink/socket.ts";
import { ADDRESS_FAMILY, readText, readUint64BE, text, uint32BE } from "../netlink/values.ts";

/** NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETOBJ. */
const GET_OBJECTS = 0xa13;
/** `struct nfgenmsg`: family, version 0, and a resource ID. */
const HEADER = 4;
/** NFTA_OBJ_… */
const OBJECT = { table: 1, name: 2, type: 3, data: 4 } as const;
/** NFT_OBJECT_COUNTER. */
const COUNTER = 1;
/** NFTA_COUNTER_PACKETS. */
const PACKETS = 2;
/** Dumps, if the table changes during each; the last one is taken as it is. */
const MOST_DUMPS = 3;

/**
 * The packets that each named counter of a table has counted, by its name; none if the table does not exist. Rejects with CSP_NETLINK_UNAVAILABLE or
 * CSP_NETLINK_FAILED.
 */
export async function listCounters(
  family: Family,
  table: string,
): Promise<ReadonlyMap<string, number>> {
  const request = Buffer.concat([
    Buffer.of(ADDRESS_FAMILY[family], 0, 0, 0),
    attribute(OBJECT.table, text(table)),
    attribute(OBJECT.type, uint32BE(COUNTER)),
  ]);
  let counters = new Map<string, number>();
  const errno = await NetlinkSocket.use(NETLINK.netfilter, async (socket) => {
    for (let tries = 1; ; tries++) {
      counters = new Map();
      const { errno, interrupted } = await socket.tryDump(GET_OBJECTS, request, (payload) => {
        const all = { from: HEADER, to: payload.length };
        const name = readText(payload, all, OBJECT.name);
        const packets = readUint64BE(payload, locate(payload, all, OBJECT.data), PACKETS);
        if (name !== undefined && packets !== undefined) counters.set(name, Number(packets));
      });
      if (!interrupted || tries === MOST_DUMPS) return errno;
    }
  });
  if (errno !== 0) throw rejected("list counters", errno);
  return counters;
}
