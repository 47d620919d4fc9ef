import type { Cidr } from "../../api/cidr.ts";
import { endpointRangesProperty, endpointRangesText } from "../../api/endpoint-ranges.ts";
import { ABOUT_GROUP, ABOUT_VERSIONS, CONTROLLER_NAME } from "../../api/keys.ts";
import type { Clock } from "../../common/clock.ts";
import { CLUSTER_PROPERTIES } from "../../common/kubernetes/kinds.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import type { Observer } from "../observe/observer.ts";
import type { Informer } from "../stores/informer.ts";
import type { LocalStores } from "../stores/local-stores.ts";
import { Applier } from "./applier.ts";
import type { Writing } from "./write-permission.ts";

/** Milliseconds until a failed write is retried. */
const BACKOFF = { min: 1_000, max: 60_000 } as const;

/** Dependencies of `PublishedRanges`. */
export interface PublishedRangesOptions {
  /** The declared endpoint ranges, by cluster. */
  readonly declared: () => ReadonlyMap<string, readonly Cidr[]>;
  readonly own: Pick<LocalStores, "properties">;
  readonly informer: Informer;
  readonly writing: Writing;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: Pick<Observer, "rangesFailed">;
}

/**
 * Publishes the endpoint ranges of each peer as a ClusterProperty for the agents, which check slices of that cluster
 * against them. A property is deleted only when its cluster leaves while this replica is active: one that remains harms nothing.
 */
export class PublishedRanges {
  readonly #options: PublishedRangesOptions;
  readonly #applier: Applier;
  #queue: WorkQueue<string> | undefined;
  /** Clusters that have declared ranges since the start. */
  readonly #known = new Set<string>();
  /** The last reported failure, by cluster. */
  readonly #reported = new Map<string, string>();

  constructor(options: PublishedRangesOptions) {
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

  /** Ranges or properties have changed. */
  update(): void {
    for (const cluster of this.#options.declared().keys()) this.#known.add(cluster);
    for (const cluster of this.#known) this.#queue?.add(cluster);
  }

  stop(): void {
    void this.#queue?.stop();
    this.#queue = undefined;
  }

  async #reconcile(cluster: string): Promise<void> {
    const { declared, own } = this.#options;
    const name = endpointRangesProperty(cluster);
    const ranges = declared().get(cluster);
    const seen = own.properties.seen(name);
    if (ranges !== undefined) {
      const manifest = {
        apiVersion: `${ABOUT_GROUP}/${ABOUT_VERSIONS[0]}`,
        kind: "ClusterProperty",
        metadata: { name },
        spec: { value: endpointRangesText(ranges) },
      };
      await this.#applier.apply(manifest, seen);
    } else if (seen !== undefined) await this.#applier.remove(seen);
  }

  #failed(cluster: string, thrown: unknown): void {
    const text = String(thrown);
    if (this.#reported.get(cluster) === text) return;
    this.#reported.set(cluster, text);
    this.#options.events.rangesFailed(cluster, thrown);
  }
}
