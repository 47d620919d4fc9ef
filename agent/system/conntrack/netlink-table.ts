import { constants } from "node:os";
import { CodedError } from "../../../common/errors.ts";
import { MOST_AT_ONCE, NETLINK, NetlinkSocket, nameOf } from "../netlink/socket.ts";
import { textOf } from "../text-file.ts";
import {
  DELETE,
  decodeEntry,
  encodeEverything,
  encodeFilter,
  encodeName,
  GET,
} from "./encoding.ts";
import type { Entry } from "./entry.ts";
import type { ConntrackTable, EntryFilter } from "./table.ts";

/** Dumps in a row that the kernel may call interrupted; the last one is taken as it is. */
const MOST_DUMPS = 3;
/**
 * Entries up to which the kernel filters. It passes over what is not asked for without a pause, and our thread
 * waits: 20 ms at 50,000 entries, 50 at 200,000 (6.18, 262,144 buckets). From a larger table all is taken, in
 * pieces of 8 KB, and everybody has a turn between them.
 */
const MOST_FILTERED = 50_000;

/** The table by way of ctnetlink. */
export class NetlinkTable implements ConntrackTable {
  readonly name = "netlink";

  /** Rejects with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED. */
  async list(
    filter: EntryFilter,
    onEntry: (entry: Entry) => void,
    stop?: AbortSignal,
  ): Promise<void> {
    const onData = (payload: Buffer) => {
      const entry = decodeEntry(payload);
      if (entry?.family === filter.family) onEntry(entry);
    };
    const small = (await entryCount()) <= MOST_FILTERED;
    const wanted = small ? encodeFilter(filter) : encodeEverything();
    await conversation(async (socket) => {
      for (let i = 0; i < MOST_DUMPS; i++) {
        const interrupted = await socket.dump(GET, wanted, onData);
        if (!interrupted || stop?.aborted) return;
      }
    });
  }

  /** Rejects with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED; an entry that is gone already is no error. */
  async delete(entries: readonly Entry[], stop?: AbortSignal): Promise<number> {
    let deleted = 0;
    await conversation(async (socket) => {
      // The kernel answers at once, or not at all: only the next batch is not waited for.
      for (let i = 0; i < entries.length && !stop?.aborted; i += MOST_AT_ONCE) {
        const names = entries.slice(i, i + MOST_AT_ONCE).map(encodeName);
        const answers = await socket.batch(DELETE, names);
        const fault = answers.find((errno) => errno !== 0 && errno !== constants.errno.ENOENT);
        if (fault !== undefined) {
          const message = `netlink: deleting an entry: the kernel says ${nameOf(fault)}`;
          throw new CodedError("CSP_NETLINK_FAILED", message);
        }
        deleted += answers.filter((errno) => errno === 0).length;
      }
    });
    return deleted;
  }
}

async function conversation(talk: (socket: NetlinkSocket) => Promise<void>): Promise<void> {
  const socket = await NetlinkSocket.open(NETLINK.netfilter);
  try {
    await talk(socket);
  } finally {
    socket.close();
  }
}

/** Entries of the table; none if conntrack is not there, which the kernel will say itself. */
async function entryCount(): Promise<number> {
  const text = await textOf("/proc/sys/net/netfilter/nf_conntrack_count");
  return Number.parseInt(text ?? "", 10) || 0;
}
