import type { Cancel, Clock } from "../../common/clock.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { Feed, type Follow, type Sink } from "./feed.ts";
import { registryQueries } from "./resources.ts";

/**
 * Milliseconds between two times that all of a registry is read anew for what it shows: how often it gives cause to is its
 * owner's choice, and he may be broken.
 */
const READ_ANEW_MS = 10_000;

type Kind = keyof ReturnType<typeof registryQueries>;

/** Where one kind of object of a registry goes, and the keys that are known of it. */
export interface Reader {
  readonly sink: Sink;
  readonly known: () => Iterable<string>;
}

/** What a `RegistryReading` is made of. */
export interface RegistryReadingOptions {
  readonly namespace: string;
  readonly clock: Clock;
  readonly readers: Readonly<Record<Kind, Reader>>;
  readonly told: {
    /** All of it is going to be listed. */
    begins(): void;
    /** One kind of object has been listed. */
    listed(): void;
    state(resource: string, state: ReflectorState): void;
    /** `isWatched` may be something else. */
    connected(): void;
  };
}

/** How a registry is read: by way of one connection after the other, and anew when there is cause to. */
export class RegistryReading {
  readonly #options: RegistryReadingOptions;
  #follow: Follow | undefined;
  #feeds: Readonly<Record<Kind, Feed>> | undefined;
  /** When all was read anew last. */
  #anewAt = Number.NEGATIVE_INFINITY;
  /** All is to be read anew, and until then nothing is sure of what it lacks. */
  #isDue = false;
  #cancel: Cancel = () => undefined;

  constructor(options: RegistryReadingOptions) {
    this.#options = options;
  }

  /** What reads each kind; undefined before it is connected. */
  get feeds(): Readonly<Record<Kind, Feed>> | undefined {
    return this.#feeds;
  }

  /** True once all that is read now has been listed. */
  get listed(): boolean {
    return Object.values(this.#feeds ?? {}).every(({ listed }) => listed);
  }

  /** True while changes of all of it arrive. */
  get isWatched(): boolean {
    const feeds = Object.values(this.#feeds ?? {});
    const areWatching = feeds.every(({ state }) => state?.reason === "watching");
    return feeds.length > 0 && areWatching && !this.#isDue;
  }

  /** Reads by way of `follow` from now on, and no more as before. Settles when it does. */
  async connect(follow: Follow): Promise<void> {
    const { told } = this.#options;
    const before = this.#feeds;
    this.#cancel();
    this.#isDue = false;
    this.#follow = follow;
    told.begins();
    this.#feeds = {
      serviceimports: this.#feed("serviceimports", follow),
      endpointslices: this.#feed("endpointslices", follow),
      leases: this.#feed("leases", follow),
    };
    if (before !== undefined) told.connected();
    await stopAll(before);
    for (const feed of Object.values(this.#feeds)) feed.start();
  }

  /** Reads all of it anew, at once or when it is time again. */
  again(): void {
    const { clock, told } = this.#options;
    const follow = this.#follow;
    if (this.#isDue || follow === undefined) return;
    this.#isDue = true;
    const read = (): void => {
      this.#anewAt = clock.now();
      void this.connect(follow);
    };
    const wait = this.#anewAt + READ_ANEW_MS - clock.now();
    if (wait <= 0) read();
    else this.#cancel = clock.after(wait, read);
    told.connected();
  }

  /** Reads no more. */
  async stop(): Promise<void> {
    this.#follow = undefined;
    this.#cancel();
    await stopAll(this.#feeds);
  }

  #feed(kind: Kind, follow: Follow): Feed {
    const { namespace, readers, told } = this.#options;
    const { sink, known } = readers[kind];
    const query = registryQueries(namespace)[kind];
    return new Feed({ query, sink, known: known(), follow, events: told });
  }
}

async function stopAll(feeds: Readonly<Record<string, Feed>> = {}): Promise<void> {
  await Promise.all(Object.values(feeds).map((feed) => feed.stop()));
}
