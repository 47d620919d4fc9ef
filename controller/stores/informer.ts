import type { Reflector } from "../../common/kubernetes/reflector.ts";
import type {
  ReflectorEvents,
  ReflectorState,
  Removal,
} from "../../common/kubernetes/reflector-events.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";

/** Lists and watches one query. */
export type Following = Pick<
  Reflector,
  "again" | "erased" | "found" | "rewound" | "start" | "stop" | "wrote"
>;

/** Makes a reflector for a query on one API server. `known`: keys from before a restart. */
export type Follow = (
  query: ResourceQuery,
  events: ReflectorEvents,
  known: Iterable<string>,
) => Following;

/** Stores the objects of a query. */
export interface Sink {
  changed(key: string, object: unknown): void;
  removed(key: string, how?: Removal): void;
}

/** Dependencies of an `Informer`. */
export interface InformerOptions {
  readonly query: ResourceQuery;
  readonly sink: Sink;
  readonly follow: Follow;
  /** Keys of objects that `sink` holds from before. */
  readonly known?: Iterable<string>;
  /** A complete list was stored. */
  readonly listed?: () => void;
  readonly state?: (resource: string, state: ReflectorState) => void;
}

/** Keeps a store in sync with one query on an API server. */
export class Informer {
  /** Takes the answers to the controller's own requests. */
  readonly reflector: Following;
  #listed = false;
  #state: ReflectorState | undefined;

  constructor({ query, sink, follow, known = [], listed, state }: InformerOptions) {
    this.reflector = follow(
      query,
      {
        changed: (key, object) => sink.changed(key, object),
        removed: (key, _at, how) => sink.removed(key, how),
        listed: () => {
          this.#listed = true;
          listed?.();
        },
        state: (now) => {
          this.#state = now;
          state?.(query.resource, now);
        },
      },
      known,
    );
  }

  /** True once the first complete list was stored. */
  get listed(): boolean {
    return this.#listed;
  }

  /** State of the connection; undefined before the first attempt. */
  get state(): ReflectorState | undefined {
    return this.#state;
  }

  start(): void {
    this.reflector.start();
  }

  stop(): Promise<void> {
    return this.reflector.stop();
  }
}
