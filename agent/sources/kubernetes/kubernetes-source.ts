import type { Cidr } from "../../../api/cidr.ts";
import type {
  ReflectorEvents,
  ReflectorState,
} from "../../../common/kubernetes/reflector-events.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource-query.ts";
import type { Source, SourceEvents } from "../source.ts";
import { queries, RESOURCES, type Resource } from "./queries.ts";
import { type Filled, tablesFor } from "./tables.ts";

/** What follows the objects of one query: a Reflector. */
export interface Following {
  start(): void;
  stop(): Promise<void>;
}

/** What a `KubernetesSource` is made of. */
export interface KubernetesOptions {
  /** Makes what follows a query. It tells nothing before it is started. */
  readonly follow: (query: ResourceQuery, events: ReflectorEvents) => Following;
  /** This node, as its Node object is called. */
  readonly nodeName: string;
  /** Ranges that no endpoint may lie in. */
  readonly clusterSetCidrs?: readonly Cidr[];
  /** Is told how the connection for a resource is from now on. */
  readonly observe?: (resource: Resource, state: ReflectorState) => void;
}

/** Until the first word of the server. */
const UNANSWERED: ReflectorState = { reason: "listing", detail: "no answer yet" };

/**
 * ServiceImports, their EndpointSlices, this node's Node and the ClusterProperties of an API server, for as
 * long as it runs. It is for the reflectors to get through the faults of the server; a source that is told
 * nothing tells nothing, so that what was last true stays. README.md says what is read.
 */
export class KubernetesSource implements Source {
  readonly name = "kubernetes";
  readonly #options: KubernetesOptions;
  readonly #following: Following[] = [];
  readonly #states = new Map<Resource, ReflectorState>();
  readonly #unlisted = new Set<Resource>(RESOURCES);
  #tables: Readonly<Record<Resource, Filled>> | undefined;

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  /** How the connection for each resource is; empty before the start. */
  get states(): ReadonlyMap<Resource, ReflectorState> {
    return this.#states;
  }

  /** Usable objects of each resource. */
  get sizes(): ReadonlyMap<Resource, number> {
    return new Map(RESOURCES.map((resource) => [resource, this.#tables?.[resource].size ?? 0]));
  }

  start(events: SourceEvents): void {
    const { nodeName, clusterSetCidrs = [], follow } = this.#options;
    const tables = tablesFor(events, clusterSetCidrs);
    const wanted = queries(nodeName);
    for (const resource of RESOURCES) {
      const table = tables[resource];
      // A server that ignores the field selector must not give this node the place of another one.
      const foreign = (key: string): boolean => resource === "nodes" && key !== nodeName;
      const following = follow(wanted[resource], {
        changed: (key, object, at) => (foreign(key) ? undefined : table.changed(key, object, at)),
        removed: (key, at) => table.removed(key, at),
        listed: () => {
          if (this.#unlisted.delete(resource) && this.#unlisted.size === 0) events.listed();
        },
        state: (state) => this.#is(resource, state),
      });
      this.#following.push(following);
    }
    this.#tables = tables;
    // A server that takes connections and says nothing is found out only after half a minute.
    for (const resource of RESOURCES) this.#is(resource, UNANSWERED);
    for (const following of this.#following) following.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#following.map((following) => following.stop()));
  }

  #is(resource: Resource, state: ReflectorState): void {
    this.#states.set(resource, state);
    this.#options.observe?.(resource, state);
  }
}
