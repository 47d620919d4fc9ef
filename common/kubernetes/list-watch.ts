import type { Clock } from "../clock.ts";
import { ApiFault } from "./api-fault.ts";
import type { ApiServer } from "./api-server.ts";
import { Connection } from "./connection.ts";
import { KnownObjects } from "./known-objects.ts";
import { currentVersion, listPages } from "./list-pages.ts";
import { isOlder, metaOf, type ObjectMeta } from "./object-meta.ts";
import type { Removal } from "./reflector-events.ts";
import { watchPath } from "./resource-path.ts";
import type { ResourceQuery } from "./resource-query.ts";
import { sweep } from "./sweep.ts";
import { NoInitialEvents, watchStream } from "./watch-stream.ts";

/** Milliseconds for which a server that cannot begin a watch with all objects is not asked to again. */
const NO_INITIAL_EVENTS_MS = 60 * 60_000;
/** Seconds that a watch may last: spread (client-go: 300 to 600), so that nodes do not come back together. */
const WATCH_SECONDS = { min: 290, max: 580 };

/** Who hears what is listed and watched. None of it throws. */
export interface ListWatchEvents {
  /** False: it was not taken, and should be told again. */
  changed(key: string, object: unknown, at: number): boolean;
  removed(key: string, at: number, how: Removal): void;
  /** A list begins. */
  listing(): void;
  /** A list is through, and all that follows from it has been told. */
  listed(): void;
  /** Changes arrive from now on. */
  watching(): void;
}

/** What a `ListWatch` is made of. */
export interface ListWatchOptions {
  readonly api: ApiServer;
  readonly query: ResourceQuery;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** Ends everything; nothing is told after it. */
  readonly signal: AbortSignal;
  readonly events: ListWatchEvents;
  /** Keys of objects that are known from before. */
  readonly known?: Iterable<string>;
}

/** How a round ended: the server closed a watch, as it may; or a list has to be looked at a second time. */
export type RoundEnd = "closed" | "doubtful";

/** Faults after which what happened since is lost, or was never known: everything has to be listed. */
const LOST: ReadonlySet<string> = new Set(["expired", "rewound", "garbage", "not-served"]);
/** Faults after which it may be another server that answers, or an older state of the same. */
const AWAY: ReadonlySet<string> = new Set(["unreachable", "stalled"]);

/**
 * Lists what a query names and follows it, one round after the other, and keeps which objects there are. A list
 * adds and changes as it comes; it takes away only once it is complete, and `sweep` believes it.
 */
export class ListWatch {
  readonly #options: ListWatchOptions;
  readonly #connection: Connection;
  readonly #known: KnownObjects;
  /** The served version in use. */
  #version = "";
  /** Where to go on; undefined: all has to be listed. */
  #since: string | undefined;
  /** The last version that was seen, whether it can be gone on from or not. */
  #reached = "";
  /** All up to this version was told by who answers now; empty while that is not known: it may be older than it was. */
  #told = "";
  #doubted: ReadonlySet<string> | undefined;
  /** The last round failed: who answers next may be another server, or an older state of the same. */
  #broken = false;
  /** Ends the watch that is open, and nothing else. */
  #interruption = new AbortController();
  #noInitialEventsUntil = Number.NEGATIVE_INFINITY;

  constructor(options: ListWatchOptions) {
    this.#options = options;
    this.#connection = new Connection(options);
    this.#known = new KnownObjects(options.known);
  }

  /** Lists if need be, then watches to the end. Throws an ApiFault; what it throws once stopped means nothing. */
  async round(): Promise<RoundEnd> {
    this.#told = "";
    try {
      const since = this.#since;
      if (since === undefined || this.#known.someUntold) return await this.#list();
      if (this.#broken) await this.#refuseOlder(since);
      return await this.#watch(since);
    } catch (thrown) {
      this.#broken = true;
      if (thrown instanceof ApiFault && this.#isLost(thrown.reason)) this.#since = undefined;
      // Versions are given twice: the same one need not be the same object.
      if (thrown instanceof ApiFault && thrown.reason === "rewound") this.#known.distrust();
      throw thrown;
    }
  }

  /**
   * An object as the answer to a request shows it: told like an event, unless something later is known. That it was deleted
   * may have come before: events and answers have connections of their own.
   */
  wrote(object: unknown): void {
    this.#tellNews(object, (meta) => this.#known.answered(meta, this.#told));
  }

  /** An object that our list lacks, as another list shows it: told like an event, unless something later is known. */
  found(object: unknown): void {
    this.#tellNews(object, (meta) => this.#known.changed(meta));
  }

  /** An object was deleted, as the answer to a request shows: told like an event, unless something later is known. */
  erased(meta: ObjectMeta, how: Removal): void {
    const { clock, events } = this.#options;
    if (this.#known.deleted(meta)) events.removed(meta.key, clock.now(), how);
  }

  /** The server is older than it was, as the answer to a request shows: a watch would never tell of what is no more. */
  rewound(): void {
    this.#interruption.abort();
  }

  #isLost(reason: string): boolean {
    const { listsAfterLoss = false } = this.#options.query;
    return LOST.has(reason) || (listsAfterLoss && AWAY.has(reason));
  }

  /** Lists and watches the first version that is served. */
  async #list(): Promise<RoundEnd> {
    let unserved: unknown;
    for (const version of this.#options.query.versions) {
      this.#version = version;
      try {
        return await this.#listVersion();
      } catch (thrown) {
        if (!(thrown instanceof ApiFault) || thrown.reason !== "not-served") throw thrown;
        unserved ??= thrown;
      }
    }
    throw unserved;
  }

  async #listVersion(): Promise<RoundEnd> {
    const { clock, query } = this.#options;
    if (clock.now() >= this.#noInitialEventsUntil) {
      try {
        return await this.#watch(undefined);
      } catch (thrown) {
        if (!(thrown instanceof NoInitialEvents)) throw thrown;
        this.#noInitialEventsUntil = clock.now() + NO_INITIAL_EVENTS_MS;
      }
    }
    this.#known.beginList();
    this.#tellList();
    const version = await listPages(this.#connection, query, this.#version, (object, meta, at) => {
      if (this.#isListed(meta)) this.#tell(meta.key, object, at);
    });
    return (await this.#complete(version)) ? this.#watch(version) : "doubtful";
  }

  /** Follows changes after `since`; where that is undefined, lists first by the same request. */
  async #watch(since: string | undefined): Promise<RoundEnd> {
    this.#interruption = new AbortController();
    const { signal } = this.#interruption;
    try {
      return await this.#follow(since, signal);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      throw new ApiFault("rewound", "An object is older than it was.", { cause: thrown });
    }
  }

  async #follow(since: string | undefined, cancel: AbortSignal): Promise<RoundEnd> {
    const { clock, events, query, random } = this.#options;
    const { min, max } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(min + (max - min) * random());
    let listing = since === undefined;
    // Not when it opens: the server looks at its objects before that, and a write may be answered in between.
    if (listing) this.#known.beginList();
    const stream = watchStream(this.#connection, {
      path: watchPath(query, this.#version, { timeoutSeconds, since }),
      clock,
      initial: listing,
      cancel,
      opened: () => {
        if (listing) this.#tellList();
        else this.#beginWatch();
      },
    });
    for await (const { event, at } of stream) {
      if (event.type === "BOOKMARK") {
        if (listing && !(await this.#complete(event.resourceVersion))) return "doubtful";
        if (listing) this.#beginWatch();
        listing = false;
        this.#goOnFrom(event.resourceVersion);
        continue;
      }
      const { meta, object, type } = event;
      if (type === "DELETED") {
        if (this.#known.deleted(meta)) events.removed(meta.key, at, "deleted");
      } else if (listing ? this.#isListed(meta) : this.#known.changed(meta)) {
        this.#tell(meta.key, object, at);
      }
      if (!listing) this.#goOnFrom(meta.resourceVersion);
    }
    return "closed";
  }

  #tellList(): void {
    // Whatever becomes of it: what is doubted, or was told in part, has to be looked at again.
    this.#since = undefined;
    this.#options.events.listing();
  }

  #beginWatch(): void {
    this.#broken = false;
    this.#options.events.watching();
  }

  /** True if an object of a list is to be told. Throws if the server is older than it was. */
  #isListed(meta: ObjectMeta): boolean {
    if (this.#known.isRewound(meta)) {
      const { key, resourceVersion } = meta;
      throw new ApiFault("rewound", `Version ${resourceVersion} of ${key} is older than it was.`);
    }
    return this.#known.listed(meta);
  }

  #goOnFrom(version: string): void {
    this.#since = version;
    this.#reached = version;
    this.#told = version;
  }

  #tellNews(object: unknown, isNews: (meta: ObjectMeta) => boolean): void {
    const meta = metaOf(object);
    if (meta !== undefined && isNews(meta)) this.#tell(meta.key, object, this.#options.clock.now());
  }

  #tell(key: string, object: unknown, at: number): void {
    if (!this.#options.events.changed(key, object, at)) this.#known.untold(key);
  }

  /** Draws the conclusions of a list that is through; false if it has to be looked at once more. */
  async #complete(version: string): Promise<boolean> {
    const { clock, events } = this.#options;
    const rewound = isOlder(version, this.#reached);
    const judged = sweep(this.#known.missing(version), this.#known.size, this.#doubted, rewound);
    this.#doubted = judged.doubted;
    // From here on: what an answer showed while objects are taken away would be missed by this list, and by no other.
    if (judged.doubted === undefined) this.#told = version;
    for (const key of judged.remove) {
      this.#known.forget(key);
      events.removed(key, clock.now(), "missing");
      await this.#connection.breathe();
    }
    if (judged.doubted !== undefined) return false;
    this.#goOnFrom(version);
    events.listed();
    return true;
  }

  /**
   * A server that was restored from a backup is older than what has been seen of it. A watch from then on would
   * be silent until it has caught up, with nothing wrong to be seen.
   */
  async #refuseOlder(since: string): Promise<void> {
    const { query } = this.#options;
    const now = await currentVersion(this.#connection, query, this.#version);
    if (isOlder(now, since)) {
      throw new ApiFault("rewound", `Version ${now} of the API server is older than ${since}.`);
    }
  }
}
