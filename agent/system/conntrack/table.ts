import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import type { Entry } from "./entry.ts";

/** Which entries are asked for. Whoever lists may give more: what is looked for is for the asker to check. */
export interface EntryFilter {
  readonly family: Family;
  /** Absent means all. */
  readonly protocol?: Protocol;
  /** Original destination, as `Address.hex`; absent means any. */
  readonly destination?: string;
  /** Present if only such are wanted that nobody has answered. */
  readonly unanswered?: true;
}

/** The kernel's connection tracking table, by one way to reach it. */
export interface ConntrackTable {
  /** What it is called in logs: the way, not the table. */
  readonly name: "netlink" | "conntrack";
  /**
   * Gives every entry that the filter wants to `onEntry`, as it arrives: a table of a million costs no memory.
   * One that changes meanwhile may be given twice. Rejects with a coded error, and soon when `stop` is aborted.
   */
  list(filter: EntryFilter, onEntry: (entry: Entry) => void, stop?: AbortSignal): Promise<void>;
  /**
   * Deletes entries, and gives how many of them were still there. The kernel forgets the connection; nothing is
   * sent to anybody. Rejects with a coded error; when `stop` is aborted, soon, with some of them left.
   */
  delete(entries: readonly Entry[], stop?: AbortSignal): Promise<number>;
}
