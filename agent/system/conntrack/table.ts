import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import type { Entry } from "./entry.ts";

/** Which entries to list. A table may list more; the caller checks each entry. */
export interface EntryFilter {
  readonly family: Family;
  /** Absent: any. */
  readonly protocol?: Protocol;
  /** Original destination, as `Address.hex`; absent: any. */
  readonly destination?: string;
  /** Present: only entries without a reply. */
  readonly unanswered?: true;
}

/** The kernel's connection tracking table, by one access method. */
export interface ConntrackTable {
  /** The access method, in logs and metrics. */
  readonly name: "netlink" | "conntrack";
  /**
   * Passes every matching entry to `onEntry` as it arrives, without keeping it; an entry that changes meanwhile may come
   * twice. Rejects with a coded error, and soon after `stop` is aborted.
   */
  list(filter: EntryFilter, onEntry: (entry: Entry) => void, stop?: AbortSignal): Promise<void>;
  /**
   * Deletes entries and returns how many still existed. No packet is sent for it. Rejects with a coded error; ends soon after
   * `stop` is aborted, with some entries left.
   */
  delete(entries: readonly Entry[], stop?: AbortSignal): Promise<number>;
}
