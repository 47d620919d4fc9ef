import type { Protocol } from "../../api/protocol.ts";
import type { Entry } from "../system/conntrack/entry.ts";
import type { ConntrackTable, EntryFilter } from "../system/conntrack/table.ts";
import type { EntryReason, Judge } from "./judge.ts";

/** Entries that were deleted for one reason. */
export interface Deleted {
  readonly protocol: Protocol;
  readonly reason: EntryReason;
  readonly entries: number;
}

/** What bounds a sweep. */
export interface SweepLimits {
  /** Wrong entries that one walk remembers. */
  readonly most?: number;
  readonly stop?: AbortSignal;
}

/** Wrong entries that one walk remembers; what is beyond them is left to another walk. About 10 MB. */
const MOST_REMEMBERED = 20_000;

/**
 * Walks through the table and deletes what is wrong. Entries of the same kind are deleted together, because a
 * table may know how to do that at once. Once `stop` is aborted, it ends as soon as the table lets it, or rejects.
 */
export async function sweep(
  table: ConntrackTable,
  filter: EntryFilter,
  judge: Judge,
  { most = MOST_REMEMBERED, stop }: SweepLimits = {},
): Promise<readonly Deleted[]> {
  const counts = new Map<string, Deleted>();
  for (;;) {
    const wrong = new Map<string, { protocol: Protocol; reason: EntryReason; entries: Entry[] }>();
    let found = 0;
    await table.list(
      filter,
      (entry) => {
        const reason = judge.verdict(entry);
        if (reason === undefined || found++ >= most) return;
        const kind = `${entry.protocol} ${reason}`;
        const same = wrong.get(kind);
        if (same !== undefined) same.entries.push(entry);
        else wrong.set(kind, { protocol: entry.protocol, reason, entries: [entry] });
      },
      stop,
    );
    let gone = 0;
    for (const [kind, { protocol, reason, entries }] of wrong) {
      const deleted = await table.delete(entries, stop);
      gone += deleted;
      const before = counts.get(kind)?.entries ?? 0;
      counts.set(kind, { protocol, reason, entries: before + deleted });
    }
    // Without progress, another walk would find the same again.
    if (found <= most || gone === 0 || stop?.aborted) return [...counts.values()];
  }
}
