import type { Clock } from "../clock.ts";
import { ApiFault, firstServed } from "./api-fault.ts";
import type { ApiServer } from "./api-server.ts";
import { confirmRemovals } from "./confirm-removals.ts";
import { Connection } from "./connection.ts";
import { KnownObjects } from "./known-objects.ts";
import { currentVersion, listPages } from "./list-pages.ts";
import { isOlder, metaOf, type ObjectMeta } from "./object-meta.ts";
import type { Removal } from "./reflector-events.ts";
import type { ResourceQuery } from "./resource.ts";
import { watchPath } from "./resource.ts";
import { NoInitialEvents, watchStream } from "./watch-stream.ts";

/** Milliseconds until a server that does not support `sendInitialEvents` gets the next request for them. */
const NO_INITIAL_EVENTS_MS = 60 * 60_000;
/** Bounds of a watch's `timeoutSeconds`: random (client-go: 300 to 600), so that nodes do not reconnect together. */
const WATCH_SECONDS = { min: 290, max: 580 };

/** Callbacks of a `ListWatch`. None of them throws. */
export interface ListWatchEvents {
  /** Returns false if the delivery failed, and the object must be delivered again. */
  changed(key: string, object: unknown, at: number): boolean;
  removed(key: string, at: number, how: Removal): void;
  /** A list begins. */
  listing(): void;
  /** A list is complete, and all changes and removals of it were delivered. */
  listed(): void;
  /** A watch is open. */
  watching(): void;
  /** Objects of an owner are left out, because there are too many; false: none are any more. */
  leavesOut(owner: string, isTrue: boolean): void;
  /** There is room for objects that were left out: a list delivers them. */
  room(): void;
}

/** Options of a `ListWatch`. */
export interface ListWatchOptions {
  readonly api: ApiServer;
  readonly query: ResourceQuery;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Keys of objects known from before this process started. Those that the first list misses are reported as removed. */
  readonly known?: Iterable<string>;
  /** Ends everything; no event follows. */
  readonly signal: AbortSignal;
  readonly events: ListWatchEvents;
}

/** How a round ended: the server closed the watch, as it may; or a second list must confirm removals. */
export type RoundEnd = "closed" | "doubtful";

/** Faults after which the watch cannot be resumed: a full list is needed. */
const RELIST: ReadonlySet<string> = new Set([
  "expired",
  "rewound",
  "garbage",
  "not-served",
  "too-many-objects",
]);
/** Why a watch is interrupted that is still good. */
const ENDED = Symbol("ended");
/** Faults after which another server, or an older state of the same one, may answer. */
const CONNECTION_LOST: ReadonlySet<string> = new Set(["unreachable", "stalled"]);

/**
 * Lists and watches the objects of a query, round after round, and tracks which exist. Removals are delivered only when a
 * list is complete and `confirmRemovals` allows them.
 */
export class ListWatch {
  readonly #options: ListWatchOptions;
  readonly #connection: Connection;
  readonly #known: KnownObjects;
  /** The API version in use. */
  #apiVersion = "";
  /** The resourceVersion to resume the watch from; undefined if a full list is needed. */
  #resumeFrom: string | undefined;
  /** The highest resourceVersion so far, whether the watch can be resumed from it or not. */
  #reached = "";
  /** Everything up to this resourceVersion was delivered; empty if a list has to show what exists. */
  #delivered = "";
  #unconfirmed: ReadonlySet<string> | undefined;
  /** The server was restored from a backup, and no list has been complete since. */
  #isRewound = false;
  /** The last round failed: another server, or an older state of the same one, may answer next. */
  #failed = false;
  /** Ends the open watch only. */
  #interruption = new AbortController();
  #noInitialEventsUntil = Number.NEGATIVE_INFINITY;

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#connection = new Connection(options);
    const { clock, events, known: keys, query } = options;
    this.#known = new KnownObjects({
      ...{ ...query, ...(keys && { keys }) },
      evicted: (key) => events.removed(key, clock.now(), "missing"),
      leavesOut: (owner, isTrue) => events.leavesOut(owner, isTrue),
    });
  }

  /** Lists if needed, then watches until the watch ends. Throws an ApiFault, or anything once stopped. */
  async round(): Promise<RoundEnd> {
    const from = this.#resumeFrom;
    // A watch that is resumed reports no earlier deletion again, so no late response may show what was deleted.
    this.#delivered = from ?? "";
    try {
      if (from === undefined || this.#known.needsList) return await this.#list();
      if (this.#failed) await this.#rejectOlder(from);
      return await (this.#isRewound ? this.#list() : this.#watch(from));
    } catch (thrown) {
      this.#failed = true;
      if (thrown instanceof ApiFault) {
        const { listsAfterLoss = false } = this.#options.query;
        const relists = RELIST.has(thrown.reason);
        if (relists || (listsAfterLoss && CONNECTION_LOST.has(thrown.reason))) {
          this.#resumeFrom = undefined;
        }
        if (thrown.reason === "rewound") this.#forgetVersions();
        if (thrown.reason === "too-many-objects") await this.#remove(this.#known.unconfirmed());
      }
      throw thrown;
    }
  }

  /** Delivers an object of a response, unless a later state is known, such as a deletion that the watch delivered first. */
  wrote(object: unknown): void {
    this.#deliverNews(object, (meta) => this.#known.inResponse(meta, this.#delivered));
  }

  /** Delivers an object of another list that this one lacks, unless a later state is known. */
  found(object: unknown): void {
    this.#deliverNews(object, (meta) => this.#known.changed(meta));
  }

  /** Delivers a deletion that a response shows, unless a later state is known. */
  erased(meta: ObjectMeta, how: Removal): void {
    this.#removeOne(meta, this.#options.clock.now(), how);
  }

  /** The server was restored. The open watch would not deliver the lost objects: relists. */
  rewound(): void {
    this.#forgetVersions();
    this.#interruption.abort();
  }

  /** The next list delivers these objects again. */
  undelivered(keys: Iterable<string>): void {
    for (const key of keys) this.#known.undelivered(key);
  }

  /** Ends the open watch: a list follows if objects have to be delivered again. */
  endWatch(): void {
    this.#interruption.abort(ENDED);
  }

  /** A restored server assigns resourceVersions again: an equal version may be another object. */
  #forgetVersions(): void {
    this.#isRewound = true;
    this.#resumeFrom = undefined;
    this.#known.invalidateVersions();
  }

  /** Lists and watches the first version that is served. */
  #list(): Promise<RoundEnd> {
    return firstServed(this.#options.query.versions, (version) => this.#listVersion(version));
  }

  async #listVersion(apiVersion: string): Promise<RoundEnd> {
    this.#apiVersion = apiVersion;
    const { clock, query } = this.#options;
    const attempted = clock.now() >= this.#noInitialEventsUntil;
    if (attempted) {
      try {
        return await this.#watch(undefined);
      } catch (thrown) {
        if (!(thrown instanceof NoInitialEvents)) throw thrown;
      }
    }
    this.#known.beginList();
    this.#reportListing();
    const take = (object: unknown, meta: ObjectMeta, at: number): void => {
      if (this.#isListed(meta)) this.#deliver(meta.key, object, at);
    };
    const version = await listPages(this.#connection, query, this.#apiVersion, take);
    // A server that fails all requests may support them all the same.
    if (attempted) this.#noInitialEventsUntil = clock.now() + NO_INITIAL_EVENTS_MS;
    return (await this.#completeList(version)) ? this.#watch(version) : "doubtful";
  }

  /** Watches from a resourceVersion; from undefined, the watch begins with a list (`sendInitialEvents`). */
  async #watch(from: string | undefined): Promise<RoundEnd> {
    this.#interruption = new AbortController();
    const { signal } = this.#interruption;
    try {
      return await this.#watchUntil(from, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      if (signal.reason === ENDED) return "closed";
      throw new ApiFault("rewound", "resourceVersion of an object decreased", { cause: thrown });
    }
  }

  async #watchUntil(from: string | undefined, cancel: AbortSignal): Promise<RoundEnd> {
    const { clock, query, random } = this.#options;
    const { min, max } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(min + (max - min) * random());
    let listing = from === undefined;
    // Before the request: a response to a write may arrive before the first event.
    if (listing) this.#known.beginList();
    const stream = watchStream(this.#connection, {
      path: watchPath(query, this.#apiVersion, timeoutSeconds, from),
      clock,
      initial: listing,
      cancel,
      opened: () => {
        if (listing) this.#reportListing();
        else this.#reportWatching();
      },
    });
    for await (const { event, at } of stream) {
      if (event.type === "BOOKMARK") {
        if (listing && !(await this.#completeList(event.resourceVersion))) return "doubtful";
        if (listing) this.#reportWatching();
        listing = false;
        this.#advance(event.resourceVersion);
        continue;
      }
      const { meta, object, type } = event;
      if (type === "DELETED") {
        this.#removeOne(meta, at, "deleted");
      } else if (listing ? this.#isListed(meta) : this.#known.changed(meta)) {
        this.#deliver(meta.key, object, at);
      }
      if (!listing) this.#advance(meta.resourceVersion);
    }
    return "closed";
  }

  #reportListing(): void {
    // An interrupted or unconfirmed list must be repeated.
    this.#resumeFrom = undefined;
    this.#options.events.listing();
  }

  #reportWatching(): void {
    this.#failed = false;
    this.#options.events.watching();
  }

  /** True if an object of a list must be delivered. Throws if the server was restored from a backup. */
  #isListed(meta: ObjectMeta): boolean {
    if (this.#known.isRewound(meta)) {
      const { key, resourceVersion } = meta;
      throw new ApiFault("rewound", `resourceVersion of ${key} decreased to ${resourceVersion}`);
    }
    return this.#known.listed(meta);
  }

  #advance(version: string): void {
    this.#resumeFrom = version;
    this.#reached = version;
    this.#delivered = version;
  }

  #deliverNews(object: unknown, isNews: (meta: ObjectMeta) => boolean): void {
    const meta = metaOf(object);
    if (meta !== undefined && isNews(meta)) {
      this.#deliver(meta.key, object, this.#options.clock.now());
    }
  }

  #deliver(key: string, object: unknown, at: number): void {
    if (!this.#options.events.changed(key, object, at)) this.#known.undelivered(key);
  }

  /** Delivers the removals of a complete list; false if a second list must confirm some. */
  async #completeList(version: string): Promise<boolean> {
    const { events } = this.#options;
    const missing = this.#known.missing(version);
    const rewound = this.#isRewound || isOlder(version, this.#reached);
    const removals = confirmRemovals(missing, this.#known.size, this.#unconfirmed, rewound);
    this.#unconfirmed = removals.unconfirmed;
    // Before the removals: while the loop yields, a response may show an object that this list does not contain.
    if (removals.unconfirmed === undefined) this.#delivered = version;
    await this.#remove(removals.remove);
    if (removals.unconfirmed !== undefined) return false;
    this.#known.completeList();
    this.#isRewound = false;
    this.#advance(version);
    events.listed();
    return true;
  }

  #removeOne(meta: ObjectMeta, at: number, how: Removal): void {
    if (!this.#known.deleted(meta)) return;
    this.#options.events.removed(meta.key, at, how);
    if (this.#known.isRoom) this.#options.events.room();
  }

  async #remove(keys: readonly string[]): Promise<void> {
    const { clock, events } = this.#options;
    for (const key of keys) {
      this.#known.forget(key);
      events.removed(key, clock.now(), "missing");
      await this.#connection.yieldIfDue();
    }
  }

  /** Throws if the server was restored to a lower resourceVersion: a watch would deliver nothing, without an error. */
  async #rejectOlder(from: string): Promise<void> {
    const { query } = this.#options;
    const now = await currentVersion(this.#connection, query, this.#apiVersion);
    const message = `The API server's resourceVersion ${now} is lower than ${from}`;
    if (isOlder(now, from)) throw new ApiFault("rewound", message);
  }
}
