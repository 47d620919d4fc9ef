import type { ObjectKey } from "../../api/names.ts";
import { isRejection } from "../../common/kubernetes/recovery.ts";
import type { Rejected } from "../import/import-claims.ts";

/** Milliseconds for which a write is rejected until a condition of an object that was written before reports it. */
const LASTING_MS = 60_000;
/** Milliseconds after which the words of the API server are replaced by new ones: they may differ each time, and each condition is a write. */
const REWORD_MS = 60_000;

/** A rejection of a name. */
export interface Rejection extends Rejected {
  /** True once it has lasted for a minute. */
  readonly isLasting: boolean;
}

interface Entry {
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

  /** Notes the result of a reconcile; undefined: it is not rejected, which an outage does not show. */
  note(key: ObjectKey, fault: unknown): Rejection | undefined {
    if (fault === undefined) this.#entries.delete(key);
    if (!isRejection(fault)) return undefined;
    const now = this.#now();
    const { reason, message } = fault;
    const before = this.#entries.get(key);
    const since = before?.since ?? now;
    const isSame = before?.said.reason === reason && now - before.saidAt < REWORD_MS;
    const entry = isSame ? before : { since, saidAt: now, said: { reason, message } };
    this.#entries.set(key, entry);
    return { ...entry.said, isLasting: now - since >= LASTING_MS };
  }
}
