import type { Protocol } from "../../api/protocol.ts";
import type { Entry } from "../system/conntrack/entry.ts";
import type { ConntrackTable, EntryFilter } from "../system/conntrack/table.ts";
import type { StaleCheck, StaleReason } from "./stale-check.ts";

/** Number of entries deleted for one reason. */
export interface DeletedEntries {
  readonly protocol: Protocol;
  readonly reason: StaleReason;
  readonly entries: number;
}

/** Stale entries kept in memory per scan, about 10 MB; the rest is left to another scan. */
const MOST = 20_000;
/** Scans in a row without a deletion, before the rest is left: what one finds, another program may delete first. */
const MOST_FRUITLESS = 3;

/**
 * Scans the table and deletes stale entries. Entries of one protocol and reason are deleted together, because a table may
 * do that in one call. Rejects as the table does; once `stop` is aborted, it ends as soon as the table allows.
 */
export async function deleteStaleEntries(
  table: ConntrackTable,
  filter: EntryFilter,
  check: StaleCheck,
  stop?: AbortSignal,
  most = MOST,
): Promise<readonly DeletedEntries[]> {
  const counts = new Map<string, DeletedEntries>();
  for (let fruitless = 0; ; ) {
    const stale = new Map<string, { protocol: Protocol; reason: StaleReason; entries: Entry[] }>();
    let found = 0;
    await table.list(
      filter,
      (entry) => {
        const reason = check.reasonFor(entry);
        if (reason === undefined || found++ >= most) return;
        const kind = `${entry.protocol} ${reason}`;
        const same = stale.get(kind);
        if (same !== undefined) same.entries.push(entry);
        else stale.set(kind, { protocol: entry.protocol, reason, entries: [entry] });
      },
      stop,
    );
    let progress = 0;
    for (const [kind, { protocol, reason, entries }] of stale) {
      const deleted = await table.delete(entries, stop);
      progress += deleted;
      const before = counts.get(kind)?.entries ?? 0;
      counts.set(kind, { protocol, reason, entries: before + deleted });
    }
    fruitless = progress === 0 ? fruitless + 1 : 0;
    const isOver = found <= most || fruitless === MOST_FRUITLESS || stop?.aborted;
    if (isOver) return [...counts.values()];
  }
}
