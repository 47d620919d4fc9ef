import type { ObjectKey } from "../../api/names.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isRejection } from "../../common/kubernetes/recovery.ts";
import type { Rejected } from "../import/import-claims.ts";

/** Milliseconds for which a write is rejected until a condition of an object that was written before reports it. */
const LASTING_MS = 60_000;
/**
 * Milliseconds after which the words of the API server are replaced by new ones: they may differ each time, as where two slices are rejected for two reasons, and
 * each condition is a write.
 */
const REWORD_MS = 60_000;

/** A rejection of a name. */
export interface Rejection extends Rejected {
  /** True once it has lasted for a minute. */
  readonly isLasting: boolean;
}

interface Entry {
  /** True once an Event has told of it. */
  isTold?: true;
  readonly since: number;
  readonly saidAt: number;
  readonly said: Rejected;
}

/** Since when writes of names are rejected, and in which words. */
export class Rejections {
  readonly #entries = new Map<ObjectKey, Entry>();
  readonly #now: () => number;

  /** `now`: milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Notes the result of a reconcile. Undefined: it is not rejected. Another fault, such as of an outage, does not show that a rejection is over. */
  note(key: ObjectKey, fault: unknown): Rejection | undefined {
    const now = this.#now();
    const before = this.#entries.get(key);
    if (fault === undefined) {
      this.#entries.delete(key);
      return undefined;
    }
    const entry = isRejection(fault) || isReverted(fault) ? entryOf(fault, before, now) : before;
    if (entry === undefined) return undefined;
    this.#entries.set(key, entry);
    return { ...entry.said, isLasting: now - entry.since >= LASTING_MS };
  }

  /** True the first time, for a rejection that has lasted: one that no condition can tell of has one Event. */
  tell(key: ObjectKey): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.isTold || this.#now() - entry.since < LASTING_MS) return false;
    entry.isTold = true;
    return true;
  }
}

function isReverted(fault: unknown): fault is ApiFault {
  return fault instanceof ApiFault && fault.reason === "overwritten";
}

function entryOf({ reason, message }: ApiFault, before: Entry | undefined, now: number): Entry {
  if (before !== undefined && now - before.saidAt < REWORD_MS) return before;
  const { since = now, isTold } = before ?? {};
  return { since, saidAt: now, said: { reason, message }, ...(isTold && { isTold }) };
}
