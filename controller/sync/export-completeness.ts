import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { isRejection } from "../../common/kubernetes/recovery.ts";
import type { RegistryInformers } from "../stores/registry-informers.ts";

/** Milliseconds between the first marked renewals: readers wait for a second one (`confirmRemovals`). */
const REPEAT_MS = 2000;
/** Number of early renewals: readers reconnect at different times. */
const REPEATS = 5;
/** Errors that concern the export itself: it will not be published, so nothing waits for it. */
const REJECTED: readonly FaultReason[] = ["invalid", "refused"];
/** Errors of two writers. */
const CONTESTED: readonly FaultReason[] = ["overwritten", "write-conflict"];
/**
 * Milliseconds after which nothing waits for an export that fails although the API server works, such as because of a webhook that does not answer: until the
 * registry is complete, readers that restart keep what others have withdrawn.
 */
const LASTING_MS = 60_000;

/**
 * Whether everything exported is in the registry, so that the Lease may be marked complete: the whole registry is
 * watched, and every export and record was reconciled since. A lost connection ends it, because the server that
 * answers next may have lost its data.
 */
export class ExportCompleteness {
  readonly #registry: Pick<RegistryInformers, "isWatched">;
  readonly #hasRecords: () => boolean;
  readonly #clock: Clock;
  readonly #completed: () => void;
  /** Names that are queued, or whose publication failed. */
  readonly #due = new Set<ObjectKey>();
  /** Names that were rejected, and are not waited for. */
  readonly #rejected = new Set<ObjectKey>();
  /** Since when names fail although the API server works. */
  readonly #failing = new Map<ObjectKey, number>();
  /** Number of reconciles in progress. */
  #underWay = 0;
  #isSeen = false;
  #cancel: Cancel = () => undefined;

  /** `registry`: the local cluster's; `hasRecords`: whether anything is in it. `completed`: the Lease should be renewed with the mark now. */
  constructor(
    registry: Pick<RegistryInformers, "isWatched">,
    hasRecords: () => boolean,
    clock: Clock,
    completed: () => void,
  ) {
    this.#registry = registry;
    this.#hasRecords = hasRecords;
    this.#clock = clock;
    this.#completed = completed;
  }

  get isSeen(): boolean {
    return this.#isSeen;
  }

  /** Starts over. */
  begin(): void {
    this.#due.clear();
    this.#rejected.clear();
    this.#failing.clear();
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

  /** Runs the reconcile of a name. Throws what it throws. */
  async publish(key: ObjectKey, reconcile: () => Promise<void>): Promise<void> {
    this.#due.delete(key);
    this.#underWay++;
    try {
      await reconcile();
      this.#failing.delete(key);
      this.#rejected.delete(key);
    } catch (thrown) {
      (this.#isAwaited(key, thrown) ? this.#due : this.#rejected).add(key);
      throw thrown;
    } finally {
      this.#underWay--;
      this.update();
    }
  }

  /** Evaluates again: the connection to the registry may have changed. */
  update(): void {
    if (!this.#registry.isWatched) this.end();
    else if (!this.#isSeen && this.#due.size === 0 && this.#underWay === 0 && this.#isCredible) {
      this.#isSeen = true;
      this.#report(REPEATS);
    }
  }

  /** An empty registry that takes nothing may have lost its data: readers would withdraw each name of the cluster. */
  get #isCredible(): boolean {
    return this.#rejected.size === 0 || this.#hasRecords();
  }

  /** True if the registry is not complete without an export that has failed. */
  #isAwaited(key: ObjectKey, thrown: unknown): boolean {
    const { reason } = thrown instanceof ApiFault ? thrown : {};
    if (reason !== undefined && REJECTED.includes(reason)) return false;
    // An outage says nothing about the export.
    if (reason !== undefined && !isRejection(thrown) && !CONTESTED.includes(reason)) return true;
    const since = this.#failing.get(key) ?? this.#clock.now();
    this.#failing.set(key, since);
    return this.#clock.now() - since < LASTING_MS;
  }

  #report(times: number): void {
    this.#completed();
    if (times > 1) this.#cancel = this.#clock.after(REPEAT_MS, () => this.#report(times - 1));
  }
}
