import { constants } from "node:os";
import { textOf } from "../kernel-files.ts";
import { NETLINK, NetlinkSocket, rejected } from "../netlink/socket.ts";
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

/** Dumps, if the table changes during each; the last one is taken as it is. */
const MOST_DUMPS = 3;
/**
 * Largest table that the kernel filters. It blocks our thread while it skips entries: 20 ms at 50,000 entries, 50 at 200,000
 * (6.18, 262,144 buckets). A larger table is dumped as a whole, in pieces of 8 KB, and the event loop runs between them.
 */
const MOST_FILTERED = 50_000;

/** The table, accessed by ctnetlink. */
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
    const requested = small ? encodeFilter(filter) : encodeEverything();
    await NetlinkSocket.use(NETLINK.netfilter, async (socket) => {
      for (let i = 0; i < MOST_DUMPS; i++) {
        const interrupted = await socket.dump(GET, requested, onData);
        if (!interrupted || stop?.aborted) return;
      }
    });
  }

  /** Rejects with CSP_NETLINK_UNAVAILABLE or CSP_NETLINK_FAILED; an entry that does not exist is no error. */
  async delete(entries: readonly Entry[], stop?: AbortSignal): Promise<number> {
    let deleted = 0;
    await NetlinkSocket.use(NETLINK.netfilter, async (socket) => {
      const onAnswer = (errno: number) => {
        if (errno === 0) deleted++;
        else if (errno !== constants.errno.ENOENT) throw rejected("delete conntrack entry", errno);
      };
      await socket.askEach(DELETE, entries, encodeName, onAnswer, { stop });
    });
    return deleted;
  }
}

/** Entries in the table; 0 if conntrack is not loaded, in which case the dump fails. */
async function entryCount(): Promise<number> {
  const text = await textOf("/proc/sys/net/netfilter/nf_conntrack_count");
  return Number.parseInt(text ?? "", 10) || 0;
}
