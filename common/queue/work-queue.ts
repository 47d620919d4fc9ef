import { mayTake } from "../../api/fair-budget.ts";
import { inTurns } from "../../api/in-turns.ts";
import { type BackoffBounds, backoff, spreadRetryAfter } from "../backoff.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ApiFault } from "../kubernetes/api-fault.ts";
import { isRejection } from "../kubernetes/recovery.ts";
import { FairQueue, type Waiting } from "./fair-queue.ts";
import { Hanging } from "./hanging.ts";

/** Options of a `WorkQueue`. */
export interface WorkQueueOptions<Key> {
  /** Reconciles a key. If it throws, the key is retried. */
  readonly reconcile: (key: Key) => Promise<void>;
  /** What has to change before a rejected key succeeds, such as a quota: keys with the same cause are woken together. Absent: nothing is. */
  readonly causeOf?: (key: Key, fault: ApiFault) => string;
  /** Keys that take turns with others, and whose attempts hang or are slow together, such as those of a namespace with a webhook that does not answer. Absent: all. */
  readonly groupOf?: (key: Key) => string;
  /** Whose workers a key takes, such as its namespace's; the same for all keys of a group. An owner alone leaves some to others (`mayTake`). Absent: as `groupOf`. */
  readonly ownerOf?: (key: Key) => string;
  /** Maximum concurrent reconciles. */
  readonly workers: number;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly events: WorkQueueEvents<Key>;
}

/** Event handlers of a `WorkQueue`. None of them throws. */
export interface WorkQueueEvents<Key> {
  /** A reconcile succeeded, after `waited` milliseconds in the queue and `took` milliseconds of work. */
  done(key: Key, waited: number, took: number): void;
  /** A reconcile failed; `failures`: consecutive failures of the key. It is retried after at most `wait` milliseconds. */
  failed(key: Key, thrown: unknown, failures: number, wait: number): void;
}

/** Backoff of a failing key, in milliseconds. */
const BACKOFF: BackoffBounds = { min: 200, max: 60_000 };
/** Milliseconds to the next attempt of a rejected key, at most: nothing reports that a right was granted or a quota raised. */
const REJECTED_MS = 5_000;
/**
 * Milliseconds by which this grows with each key of the owner that is rejected for the same cause, times the causes: all keys together cause ten to twenty attempts a
 * second, of which each cause of each owner has an equal part. A namespace with thousands of rejected keys delays no other one.
 */
const EACH_REJECTED_MS = 100;
/** Retries of rejected keys occupy one of so many workers, at most. */
const MOST_OCCUPIED = 4;
/** Keys that a success wakes at once. Each that succeeds wakes more, so a quota with room for one key costs few attempts. */
const MOST_WOKEN = 50;

/** The retry of a failing key. */
interface Retry {
  readonly failures: number;
  readonly source: string;
  /** Since when the key waits for a reconcile that succeeds. */
  readonly since: number;
  /** Waits for a Retry-After: `add` does not make it sooner. */
  readonly fixed: boolean;
  /** Of a rejection, as `causeOf` returns it. */
  readonly cause: string | undefined;
  /** Cancels the retry; safe to call once it has begun. */
  readonly cancel: Cancel;
}

/**
 * A work queue like client-go's: keys are deduplicated, and reconciled in order, and each one at a time. Sources of keys, and
 * their groups, take turns (`FairQueue`). A failing key is retried
 * with backoff, or immediately if it is added meanwhile, but never before the `Retry-After` of a busy server. A rejected key is retried within seconds,
 * as long as there are few, and when a key that was rejected for the same cause succeeds. Keys whose attempts hang or are slow leave workers to others.
 */
export class WorkQueue<Key> {
  readonly #options: WorkQueueOptions<Key>;
  /** Waiting keys. Some may still be in progress. */
  readonly #due: FairQueue<Key>;
  readonly #hanging: Hanging<Key>;
  readonly #ownerOf: (key: Key) => string;
  /** Waiting keys by class of `Hanging`, of which enough are in progress. */
  readonly #parked = new Map<string, Map<Key, Waiting<Key>>>();
  /** Keys in progress, and since when they were waiting. */
  readonly #working = new Map<Key, number>();
  readonly #retries = new Map<Key, Retry>();
  /** Rejected keys that wait, by cause and owner; those that failed first are in front. */
  readonly #rejected = new Map<string, Map<string, Set<Key>>>();
  #pending = false;
  #stopped: (() => void) | undefined;

  constructor(options: WorkQueueOptions<Key>) {
    this.#options = options;
    const { clock, groupOf = () => "", ownerOf = groupOf, workers } = options;
    this.#ownerOf = ownerOf;
    this.#due = new FairQueue(groupOf);
    this.#hanging = new Hanging(clock, groupOf, workers);
  }

  /** Number of waiting keys. */
  get depth(): number {
    return this.#parked.values().reduce((sum, keys) => sum + keys.size, this.#due.size);
  }

  /** Number of keys in progress. */
  get working(): number {
    return this.#working.size;
  }

  /** Number of failing keys. */
  get failing(): number {
    return this.#retries.size;
  }

  /** For how long the key fails that fails for longest, in milliseconds; 0 if there is none. */
  get failingFor(): number {
    let age = 0;
    const now = this.#options.clock.now();
    for (const { since } of this.#retries.values()) age = Math.max(age, now - since);
    return age;
  }

  /** Age of the oldest key, waiting or in progress, in milliseconds; 0 if there is none. */
  get oldest(): number {
    const parked = this.#parked.values().flatMap((keys) => keys.values());
    const since = parked.reduce(
      (first, one) => Math.min(first, one.since),
      Number.POSITIVE_INFINITY,
    );
    return this.#ageOf(Math.min(since, ...this.#working.values()));
  }

  /** As `oldest`, without keys whose attempts hang or are slow: those wait for the API server, not for this process. */
  get stuckFor(): number {
    const working = [...this.#working].filter(([key]) => this.#hanging.classOf(key) === undefined);
    return this.#ageOf(Math.min(...working.map(([, since]) => since)));
  }

  /** Milliseconds since then, or since the oldest key became due that waits for a worker, if that was before. */
  #ageOf(since: number): number {
    const first = Math.min(since, this.#due.oldest ?? Number.POSITIVE_INFINITY);
    return first === Number.POSITIVE_INFINITY ? 0 : this.#options.clock.now() - first;
  }

  /** Adds a key that has changed. Returns before any work begins. `source`: what takes turns with others. */
  add(key: Key, source = ""): void {
    // The change does not wait for the retries of those that hung. While the key is in progress, it keeps its worker's class.
    if (!this.#working.has(key) && this.#hanging.changed(key)) this.#unpark(key);
    this.#enqueue(key, source);
  }

  /** Adds a key that has changed, or is retried. */
  #enqueue(key: Key, source: string): void {
    if (this.#stopped !== undefined) return;
    // The pending retry will process the change.
    if (this.#retries.get(key)?.fixed === true) return;
    if (this.#parked.values().some((keys) => keys.has(key))) return;
    this.#due.add(key, source, this.#options.clock.now());
    this.#wake();
  }

  /** No reconcile begins after the call. Resolves when those in progress have ended. */
  stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#stopped;
    this.#stopped = (): void => {
      before?.();
      resolve();
    };
    for (const { cancel } of this.#retries.values()) cancel();
    this.#due.clear();
    this.#parked.clear();
    if (this.#working.size === 0) this.#stopped();
    return promise;
  }

  /** Starts work in the next turn of the event loop, when all current changes have been added. */
  #wake(): void {
    if (this.#pending) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      this.#begin();
    });
  }

  #begin(): void {
    for (const keys of this.#parked.values()) {
      const [first] = keys.keys();
      // Its class hangs no more: they all wait like others.
      if (first === undefined || this.#hanging.classOf(first) !== undefined) continue;
      for (const key of [...keys.keys()]) this.#unpark(key);
    }
    while (this.#working.size < this.#options.workers) {
      const next =
        this.#unparked() ??
        this.#due.take(
          (key) => !this.#working.has(key),
          (key) => this.#mayBegin(key),
        );
      if (next === undefined) return;
      const theirs = this.#hanging.classOf(next.key);
      if (theirs !== undefined && this.#hanging.isFull(next.key, this.#working.keys())) {
        const keys = this.#parked.get(theirs) ?? new Map<Key, Waiting<Key>>();
        this.#parked.set(theirs, keys.set(next.key, next));
        continue;
      }
      this.#working.set(next.key, next.since);
      void this.#work(next);
    }
  }

  /** False while the key's owner has so many workers that the others are for other owners: its attempts may be the first ones that hang. */
  #mayBegin(key: Key): boolean {
    const owner = this.#ownerOf(key);
    const held = [...this.#working.keys()].filter((one) => this.#ownerOf(one) === owner).length;
    return mayTake(held, this.#options.workers - this.#working.size);
  }

  /** The next key of a class that has a free worker, in turns. */
  #unparked(): Waiting<Key> | undefined {
    for (const [name, keys] of this.#parked) {
      const [next] = keys.values();
      if (next === undefined || this.#hanging.isFull(next.key, this.#working.keys())) continue;
      if (!this.#mayBegin(next.key)) continue;
      keys.delete(next.key);
      this.#parked.delete(name);
      if (keys.size > 0) this.#parked.set(name, keys);
      return next;
    }
    return undefined;
  }

  /** The key waits like others, if it is parked. */
  #unpark(key: Key): void {
    for (const [name, keys] of this.#parked) {
      const waiting = keys.get(key);
      if (waiting === undefined) continue;
      keys.delete(key);
      if (keys.size === 0) this.#parked.delete(name);
      this.#due.add(key, waiting.source, waiting.since);
    }
  }

  async #work({ key, source, since }: Waiting<Key>): Promise<void> {
    const { clock, events, reconcile } = this.#options;
    this.#retries.get(key)?.cancel();
    const began = clock.now();
    try {
      await reconcile(key);
      this.#hanging.ended(key, "done", clock.now() - began, false);
      const cause = this.#forget(key);
      this.#retries.delete(key);
      if (cause !== undefined) this.#wakeRejected(cause);
      events.done(key, began - since, clock.now() - began);
    } catch (thrown) {
      this.#fail(key, source, since, thrown, clock.now() - began);
    } finally {
      this.#working.delete(key);
      if (this.#stopped === undefined) this.#begin();
      else if (this.#working.size === 0) this.#stopped();
    }
  }

  #fail(key: Key, source: string, waiting: number, thrown: unknown, took: number): void {
    const { causeOf, clock, events, random } = this.#options;
    const { failures: before = 0, since = waiting } = this.#retries.get(key) ?? {};
    const failures = before + 1;
    const outcome = isRejection(thrown) ? "rejected" : "interrupted";
    this.#hanging.ended(key, outcome, took, this.#due.has(key));
    // A webhook that denies one write must not stop those of the next change: only a server that is busy can ask for time.
    const asked =
      !isRejection(thrown) && thrown instanceof ApiFault ? thrown.retryAfter : undefined;
    const fixed = asked !== undefined;
    const least = spreadRetryAfter(asked ?? 0, random());
    this.#forget(key);
    const cause = isRejection(thrown) ? causeOf?.(key, thrown) : undefined;
    if (cause !== undefined) {
      const owner = this.#ownerOf(key);
      const owners = this.#rejected.get(cause) ?? new Map<string, Set<Key>>();
      this.#rejected.set(cause, owners.set(owner, (owners.get(owner) ?? new Set()).add(key)));
    }
    const bounds = isRejection(thrown) ? this.#boundsOf(key, cause, took) : BACKOFF;
    const wait = Math.max(least, backoff(failures, bounds, random()));
    const retry = { failures, source, since, fixed, cause };
    const again = (): void => {
      this.#retries.set(key, { ...retry, fixed: false, cancel: () => {} });
      this.#enqueue(key, source);
    };
    const cancel = this.#stopped === undefined ? clock.after(wait, again) : () => {};
    this.#retries.set(key, { ...retry, cancel });
    // The retry will process changes added meanwhile.
    if (fixed) this.#due.delete(key);
    events.failed(key, thrown, failures, wait);
  }

  /** Of a rejection. `took`: milliseconds of the attempt. Attempts that hang, such as in a webhook, leave most workers to others. */
  #boundsOf(key: Key, cause: string | undefined, took: number): BackoffBounds {
    const each = Math.max(EACH_REJECTED_MS, (took * MOST_OCCUPIED) / this.#options.workers);
    const same = this.#rejected.get(cause ?? "")?.get(this.#ownerOf(key))?.size;
    const shares = this.#rejected.values().reduce((sum, owners) => sum + owners.size, 0);
    const turns = same === undefined ? this.#retries.size : same * shares;
    const max = Math.max(REJECTED_MS, turns * each);
    return { min: BACKOFF.min, max: Math.min(BACKOFF.max, max) };
  }

  /** The key is no longer rejected, as far as is known. Returns the cause. */
  #forget(key: Key): string | undefined {
    const cause = this.#retries.get(key)?.cause;
    if (cause === undefined) return undefined;
    this.#unreject(key, cause);
    return cause;
  }

  #unreject(key: Key, cause: string): void {
    const owners = this.#rejected.get(cause);
    const keys = owners?.get(this.#ownerOf(key));
    keys?.delete(key);
    if (keys?.size === 0) owners?.delete(this.#ownerOf(key));
    if (owners?.size === 0) this.#rejected.delete(cause);
  }

  /** Owners take turns. */
  #wakeRejected(cause: string): void {
    const owners = this.#rejected.get(cause)?.values() ?? [];
    const queues = Iterator.from(owners).map((keys) => [...keys.values().take(MOST_WOKEN)]);
    for (const key of inTurns(queues).slice(0, MOST_WOKEN)) {
      this.#unreject(key, cause);
      this.#enqueue(key, this.#retries.get(key)?.source ?? "");
    }
  }
}
