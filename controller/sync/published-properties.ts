import { ABOUT_GROUP, ABOUT_VERSIONS, CONTROLLER_NAME } from "../../api/keys.ts";
import type { Clock } from "../../common/clock.ts";
import { CLUSTER_PROPERTIES } from "../../common/kubernetes/kinds.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import type { Informer } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import { Applier } from "./applier.ts";
import type { Writing } from "./write-permission.ts";

/** Milliseconds until a failed write is retried. */
const BACKOFF = { min: 1_000, max: 60_000 } as const;

/** What a ClusterProperty about a cluster says. */
export interface PropertyContent {
  readonly value: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Dependencies of `PublishedProperties`. */
export interface PublishedPropertiesOptions {
  /** Clusters that may have a property now. */
  readonly clusters: () => Iterable<string>;
  readonly nameOf: (cluster: string) => string;
  /** What the property of a cluster says now; undefined: there is none. */
  readonly content: (cluster: string) => PropertyContent | undefined;
  readonly own: Pick<LocalStores, "properties">;
  readonly informer: Informer;
  readonly writing: Writing;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called once for each error in a row. */
  readonly failed: (cluster: string, thrown: unknown) => void;
}

/**
 * Writes a ClusterProperty about each cluster, which no user of a namespace can change. A property is deleted only when its
 * cluster leaves while this replica is active: one that remains harms nothing.
 */
export class PublishedProperties {
  readonly #options: PublishedPropertiesOptions;
  readonly #applier: Applier;
  #queue: WorkQueue<string> | undefined;
  /** Clusters since the start. */
  readonly #known = new Set<string>();
  /** The last reported failure, by cluster. */
  readonly #reported = new Map<string, string>();

  constructor(options: PublishedPropertiesOptions) {
    const { clock, informer, own, writing } = options;
    this.#options = options;
    this.#applier = new Applier({
      resource: CLUSTER_PROPERTIES,
      writer: new ApiWriter({ ...writing, fieldManager: CONTROLLER_NAME }),
      store: own.properties,
      informer: () => informer,
      clock,
      takesOver: true,
    });
  }

  start(): void {
    const { clock, random } = this.#options;
    this.#queue = new WorkQueue({
      reconcile: (cluster) => this.#reconcile(cluster),
      workers: 1,
      backoff: BACKOFF,
      clock,
      random,
      events: {
        done: (cluster) => void this.#reported.delete(cluster),
        failed: (cluster, thrown) => this.#failed(cluster, thrown),
      },
    });
    this.update();
  }

  /** Content or properties have changed. */
  update(): void {
    for (const cluster of this.#options.clusters()) this.#known.add(cluster);
    for (const cluster of this.#known) this.#queue?.add(cluster);
  }

  stop(): void {
    void this.#queue?.stop();
    this.#queue = undefined;
  }

  async #reconcile(cluster: string): Promise<void> {
    const { content, nameOf, own } = this.#options;
    const name = nameOf(cluster);
    const wanted = content(cluster);
    const seen = own.properties.seen(name);
    if (wanted !== undefined) {
      const { annotations, value } = wanted;
      const manifest = {
        apiVersion: `${ABOUT_GROUP}/${ABOUT_VERSIONS[0]}`,
        kind: "ClusterProperty",
        metadata: { name, ...(annotations !== undefined && { annotations }) },
        spec: { value },
      };
      await this.#applier.apply(manifest, seen);
    } else if (seen !== undefined) await this.#applier.remove(seen);
  }

  #failed(cluster: string, thrown: unknown): void {
    const text = String(thrown);
    if (this.#reported.get(cluster) === text) return;
    this.#reported.set(cluster, text);
    this.#options.failed(cluster, thrown);
  }
}
