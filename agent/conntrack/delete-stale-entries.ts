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

/** Stale entries that wait in memory for their deletion, used and idle ones each, about 10 MB; what a scan finds beyond is left to another one. */
const MOST_WAITING = 10_000;
/** As many are deleted during the scan: a client need not wait for the end of a large table. */
const BATCH = 2_000;
/** Scans in a row without a deletion, before the rest is left: what one finds, another program may delete first. */
const MOST_FRUITLESS = 3;

/**
 * Scans the table and deletes stale entries. Those that clients use go first: while the kernel has them, packets go to the wrong place. Of a
 * large table, a scan takes seconds, and the deletions many. Entries of one protocol and reason are deleted together, because a table may
 * do that in one call. Rejects as the table does; once `stop` is aborted, it ends as soon as the table allows.
 */
export async function deleteStaleEntries(
  table: ConntrackTable,
  filter: EntryFilter,
  check: StaleCheck,
  stop?: AbortSignal,
  { most = MOST_WAITING, batch = BATCH } = {},
): Promise<readonly DeletedEntries[]> {
  const counts = new Map<string, DeletedEntries>();
  const use = new RecentUse();
  for (let scans = 0, fruitless = 0; ; scans++) {
    const deletions = new Deletions(table, most, batch, stop);
    const onEntry = (entry: Entry): void => {
      const reason = check.reasonFor(entry);
      // What the first scan leaves is idle.
      if (reason !== undefined) deletions.add({ entry, reason }, scans > 0 || use.isUsed(entry));
    };
    try {
      await table.list(filter, onEntry, stop);
    } catch (error) {
      // No deletion runs beside the next attempt. The error of the list is thrown; one of a deletion would only hide it.
      await deletions.end().catch(() => undefined);
      throw error;
    }
    const deleted = await deletions.end();
    for (const one of deleted) {
      const kind = kindOf(one);
      const entries = one.entries + (counts.get(kind)?.entries ?? 0);
      counts.set(kind, { ...one, entries });
    }
    fruitless = deleted.some(({ entries }) => entries > 0) ? 0 : fruitless + 1;
    const isOver = !deletions.isLimited || fruitless === MOST_FRUITLESS || stop?.aborted;
    if (isOver) return [...counts.values()];
  }
}

type Kind = Pick<DeletedEntries, "protocol" | "reason">;

function kindOf({ protocol, reason }: Kind): string {
  return `${protocol} ${reason}`;
}

interface StaleEntry {
  readonly entry: Entry;
  readonly reason: StaleReason;
}

/** The deletions of one scan: one call after the other, of entries in use beside the scan, and of idle ones after it. */
class Deletions {
  readonly #table: ConntrackTable;
  readonly #most: number;
  readonly #batch: number;
  readonly #stop: AbortSignal | undefined;
  #waiting: StaleEntry[] = [];
  #idle: StaleEntry[] = [];
  /** Of entries that wait for the next call or are in one. */
  #size = 0;
  readonly #deleted: DeletedEntries[] = [];
  #running: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** True if entries were left to another scan. */
  isLimited = false;

  constructor(table: ConntrackTable, most: number, batch: number, stop: AbortSignal | undefined) {
    this.#table = table;
    this.#most = most;
    this.#batch = batch;
    this.#stop = stop;
  }

  add(stale: StaleEntry, isUsed: boolean): void {
    if (this.#failure !== undefined) return;
    if ((isUsed ? this.#size : this.#idle.length) >= this.#most) {
      this.isLimited = true;
      return;
    }
    if (!isUsed) return void this.#idle.push(stale);
    this.#waiting.push(stale);
    this.#size++;
    if (this.#size >= this.#batch) this.#next();
  }

  /** Deletes the rest, and returns what was deleted. Rejects as the table does. */
  async end(): Promise<readonly DeletedEntries[]> {
    await this.#deleteAll();
    [this.#waiting, this.#idle, this.#size] = [this.#idle, [], this.#idle.length];
    await this.#deleteAll();
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#deleted;
  }

  async #deleteAll(): Promise<void> {
    while (this.#failure === undefined && (this.#running !== undefined || this.#size > 0)) {
      this.#next();
      await this.#running;
    }
  }

  #next(): void {
    this.#running ??= this.#delete()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #delete(): Promise<void> {
    const taken = this.#waiting;
    this.#waiting = [];
    const kinds = Map.groupBy(taken, ({ entry: { protocol }, reason }) =>
      kindOf({ protocol, reason }),
    );
    for (const all of kinds.values()) {
      const [first] = all;
      if (first === undefined) continue;
      const entries = all.map(({ entry }) => entry);
      const deleted = await this.#table.delete(entries, this.#stop);
      this.#size -= entries.length;
      const { protocol } = first.entry;
      this.#deleted.push({ protocol, reason: first.reason, entries: deleted });
    }
  }
}

/** An entry without a packet for as many seconds is idle. */
const IDLE_SECONDS = 10;

/**
 * Tells entries that clients use from idle ones, for one scan. The kernel does not report when an entry was used, but each packet begins its time
 * anew, and that is the same for entries in the same state: the longest that the scan has seen. Until it has seen one in use, idle ones count
 * as used, too.
 */
class RecentUse {
  readonly #longest = new Map<string, number>();

  /** True, too, if it is not known how long the entry stays. */
  isUsed({ protocol, replied, assured, tcp, secondsLeft }: Entry): boolean {
    if (secondsLeft === undefined) return true;
    const state = `${protocol} ${replied} ${assured} ${tcp}`;
    const longest = Math.max(secondsLeft, this.#longest.get(state) ?? 0);
    this.#longest.set(state, longest);
    return secondsLeft > longest - IDLE_SECONDS;
  }
}
