import type { Cancel, Clock } from "../../common/clock.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { type Follow, Informer, type Sink } from "./informer.ts";
import { registryQueries } from "./resources.ts";

/** Milliseconds between two relists of a registry: a broken owner could otherwise cause them without end. */
const RELIST_MS = 10_000;

type Kind = keyof ReturnType<typeof registryQueries>;

/** Dependencies of `RegistryInformers`. */
export interface RegistryInformersOptions {
  readonly namespace: string;
  readonly clock: Clock;
  /** Where the objects of each kind are stored, and the keys stored by now. */
  readonly sinks: Readonly<Record<Kind, { sink: Sink; known: () => Iterable<string> }>>;
  /** A list of the whole registry begins. */
  readonly begins: () => void;
  /** One kind was listed. */
  readonly listed: () => void;
  readonly state: (resource: string, state: ReflectorState) => void;
  /** `isWatched` may have changed. */
  readonly connected: () => void;
}

/** The informers of one registry; they are replaced for a new connection and for a relist. */
export class RegistryInformers {
  readonly #options: RegistryInformersOptions;
  #follow: Follow | undefined;
  #informers: Readonly<Record<Kind, Informer>> | undefined;
  #relistedAt = Number.NEGATIVE_INFINITY;
  /** A relist is due, and absence proves nothing until it is done. */
  #isDue = false;
  #cancel: Cancel = () => undefined;

  constructor(options: RegistryInformersOptions) {
    this.#options = options;
  }

  /** By kind; undefined before the first connection. */
  get informers(): Readonly<Record<Kind, Informer>> | undefined {
    return this.#informers;
  }

  /** True once the present informers have listed everything. */
  get listed(): boolean {
    return Object.values(this.#informers ?? {}).every(({ listed }) => listed);
  }

  /** True while all kinds are watched. */
  get isWatched(): boolean {
    const informers = Object.values(this.#informers ?? {});
    const areWatching = informers.every(({ state }) => state?.reason === "watching");
    return informers.length > 0 && areWatching && !this.#isDue;
  }

  /** Replaces the informers by new ones. Settles when those have started. */
  async connect(follow: Follow): Promise<void> {
    const { begins, connected } = this.#options;
    const before = this.#informers;
    this.#cancel();
    this.#isDue = false;
    this.#follow = follow;
    begins();
    this.#informers = {
      serviceimports: this.#newInformer("serviceimports", follow),
      endpointslices: this.#newInformer("endpointslices", follow),
      leases: this.#newInformer("leases", follow),
    };
    if (before !== undefined) connected();
    await stopAll(before);
    for (const informer of Object.values(this.#informers)) informer.start();
  }

  /** Lists everything again, at once or as soon as `RELIST_MS` have passed. */
  relist(): void {
    const { clock, connected } = this.#options;
    const follow = this.#follow;
    if (this.#isDue || follow === undefined) return;
    this.#isDue = true;
    const list = (): void => {
      this.#relistedAt = clock.now();
      void this.connect(follow);
    };
    const wait = this.#relistedAt + RELIST_MS - clock.now();
    if (wait <= 0) list();
    else this.#cancel = clock.after(wait, list);
    connected();
  }

  async stop(): Promise<void> {
    this.#follow = undefined;
    this.#cancel();
    await stopAll(this.#informers);
  }

  #newInformer(kind: Kind, follow: Follow): Informer {
    const { namespace, sinks, listed, state } = this.#options;
    const { sink, known } = sinks[kind];
    const query = registryQueries(namespace)[kind];
    return new Informer({ query, sink, known: known(), follow, listed, state });
  }
}

async function stopAll(informers: Readonly<Record<string, Informer>> = {}): Promise<void> {
  await Promise.all(Object.values(informers).map((informer) => informer.stop()));
}
