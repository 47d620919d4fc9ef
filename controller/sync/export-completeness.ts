import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { Exceptions } from "../model/facts.ts";
import { MOST_EXCEPT_CHARACTERS } from "../model/limits.ts";
import type { RegistryInformers } from "../stores/registry-informers.ts";

/** Milliseconds between the first marked renewals: readers wait for a second one (`confirmRemovals`). */
const REPEAT_MS = 2000;
/** Number of early renewals: a reader that lost contact watches again within 11 s (`PROBE_BACKOFF`), and then waits for two. */
const REPEATS = 8;
/** Milliseconds for which an export stays an exception once it is published: watches of Leases may be ahead of those of records. */
const LINGER_MS = 10_000;

/**
 * Whether everything exported is in the registry, so that the Lease may be marked complete: the whole registry is
 * watched, and every export and record was reconciled since. A lost connection ends it, because the server that
 * answers next may have lost its data. Exports that the registry rejects are not awaited, as it may never accept them. Those that it lacks are exceptions of the
 * mark: it may have lost them, and readers must not withdraw them.
 */
export class ExportCompleteness {
  readonly #registry: Pick<RegistryInformers, "isWatched">;
  readonly #clock: Clock;
  readonly #completed: () => void;
  /** Names that are queued, or whose publication failed. */
  readonly #due = new Set<ObjectKey>();
  /** Rejected names that the registry lacks, or has lacked, and until when they are exceptions. */
  readonly #lacking = new Map<ObjectKey, number>();
  /** Number of reconciles in progress. */
  #underWay = 0;
  #isSeen = false;
  #cancel: Cancel = () => undefined;

  /** `registry`: the local cluster's. `completed`: the Lease should be renewed with the mark now. */
  constructor(registry: Pick<RegistryInformers, "isWatched">, clock: Clock, completed: () => void) {
    this.#registry = registry;
    this.#clock = clock;
    this.#completed = completed;
  }

  /** Exports that the registry may lack; undefined while it may lack any, or if they are too many for a Lease. */
  get except(): Exceptions | undefined {
    if (!this.#isSeen) return undefined;
    for (const [key, until] of this.#lacking)
      if (until <= this.#clock.now()) this.#lacking.delete(key);
    const names = [...this.#lacking.keys()].sort();
    // A namespace with many of them costs no other one its completeness.
    const namespaces = names.map((key) => namesOf(key).namespace);
    const fits = (all: Exceptions) => [...all].join().length <= MOST_EXCEPT_CHARACTERS;
    return [new Set(names), new Set(namespaces)].find(fits);
  }

  /** Starts over. */
  begin(): void {
    this.#due.clear();
    this.#lacking.clear();
    this.end();
  }

  end(): void {
    this.#isSeen = false;
    this.#cancel();
  }

  /** A name was queued. */
  due(key: ObjectKey): void {
    this.#due.add(key);
  }

  /** Runs the reconcile of a name; `lacks`: the registry lacks it. Throws what `reconcile` throws. */
  async publish(
    key: ObjectKey,
    reconcile: () => Promise<void>,
    lacks: () => boolean,
  ): Promise<void> {
    this.#due.delete(key);
    this.#underWay++;
    try {
      await reconcile();
      this.#linger(key);
    } catch (thrown) {
      if (isOutage(thrown)) this.#due.add(key);
      else if (lacks()) this.#lacking.set(key, Number.POSITIVE_INFINITY);
      else this.#linger(key);
      throw thrown;
    } finally {
      this.#underWay--;
      this.update();
    }
  }

  /** Evaluates again: the connection to the registry may have changed. */
  update(): void {
    if (!this.#registry.isWatched) this.end();
    else if (!this.#isSeen && this.#due.size === 0 && this.#underWay === 0) {
      this.#isSeen = true;
      this.#report(REPEATS);
    }
  }

  #linger(key: ObjectKey): void {
    if (this.#lacking.get(key) === Number.POSITIVE_INFINITY)
      this.#lacking.set(key, this.#clock.now() + LINGER_MS);
  }

  #report(times: number): void {
    this.#completed();
    if (times > 1) this.#cancel = this.#clock.after(REPEAT_MS, () => this.#report(times - 1));
  }
}

/** Faults that say nothing about the export: the API server does not work, or this replica must not write. All others may never end. */
const OUTAGES: ReadonlySet<FaultReason> = new Set([
  "no-credentials",
  "not-leader",
  "server-error",
  "stalled",
  "throttled",
  "unauthorized",
  "unreachable",
]);

function isOutage(thrown: unknown): boolean {
  return thrown instanceof ApiFault && OUTAGES.has(thrown.reason);
}
