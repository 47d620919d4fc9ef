import type { ObjectMeta } from "../../common/kubernetes/object-meta.ts";
import type {
  ReflectorEvents,
  ReflectorState,
  Removal,
} from "../../common/kubernetes/reflector-events.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource-query.ts";

/** What follows the objects of one query: a Reflector. */
export interface Following {
  start(): void;
  stop(): Promise<void>;
  /** What a write of ours was answered with. */
  wrote(object: unknown): void;
  /** An object that its list lacks, as another list shows it. */
  found(object: unknown): void;
  /** An object is gone, as the answer to a request of ours shows. */
  erased(meta: ObjectMeta, how: Removal): void;
  /** The API server is older than it was, as the answer to a request of ours shows. */
  rewound(): void;
}

/** Makes what follows a query on one API server. It tells nothing before it is started. `known`: keys from before. */
export type Follow = (
  query: ResourceQuery,
  events: ReflectorEvents,
  known: Iterable<string>,
) => Following;

/** Where the objects of a query go. */
export interface Sink {
  changed(key: string, object: unknown, at: number): void;
  removed(key: string, at: number, how?: Removal): void;
}

/** Who hears how a feed fares. */
export interface FeedEvents {
  /** Its first complete list is through. Once. */
  listed(): void;
  state(resource: string, state: ReflectorState): void;
}

/** What a `Feed` is made of. */
export interface FeedOptions {
  readonly query: ResourceQuery;
  readonly sink: Sink;
  readonly follow: Follow;
  /** Keys of objects that `sink` has from before. */
  readonly known?: Iterable<string>;
  readonly events: FeedEvents;
}

/** One kind of object of one API server, on its way to where it is kept. */
export class Feed {
  readonly #following: Following;
  #listed = false;
  #state: ReflectorState | undefined;

  constructor({ query, sink, follow, known = [], events }: FeedOptions) {
    this.#following = follow(
      query,
      {
        changed: (key, object, at) => sink.changed(key, object, at),
        removed: (key, at, how) => sink.removed(key, at, how),
        listed: () => {
          this.#listed = true;
          events.listed();
        },
        state: (state) => {
          this.#state = state;
          events.state(query.resource, state);
        },
      },
      known,
    );
  }

  /** True once everything has been told that exists. */
  get listed(): boolean {
    return this.#listed;
  }

  /** How the connection is; undefined before it was tried. */
  get state(): ReflectorState | undefined {
    return this.#state;
  }

  start(): void {
    this.#following.start();
  }

  stop(): Promise<void> {
    return this.#following.stop();
  }

  /** What a write of ours was answered with: it is kept at once. */
  wrote(object: unknown): void {
    this.#following.wrote(object);
  }

  /** An object that its list lacks, as another list shows it: it is kept at once. */
  found(object: unknown): void {
    this.#following.found(object);
  }

  /** An object is gone, as the answer to a request of ours shows. */
  erased(meta: ObjectMeta, how: Removal): void {
    this.#following.erased(meta, how);
  }

  /** The API server is older than it was, as the answer to a request of ours shows: all is listed anew. */
  rewound(): void {
    this.#following.rewound();
  }
}
