import type { Cidr } from "../../../api/cidr.ts";
import { Interner } from "../../../api/parse/interner.ts";
import { parseIpAddress } from "../../../api/parse/parse-ip-address.ts";
import type {
  ReflectorEvents,
  ReflectorState,
} from "../../../common/kubernetes/reflector-events.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource.ts";
import { parseClusterProperty } from "../../model/parse-cluster-property.ts";
import { parseImport } from "../../model/parse-import.ts";
import { parseNode } from "../../model/parse-node.ts";
import { parseSlice } from "../../model/parse-slice.ts";
import { type FactLimits, type FactTables, factTables } from "../fact-tables.ts";
import type { ParsedObject } from "../object-table.ts";
import { SliceQuota } from "../slice-quota.ts";
import type { Source, SourceEvents } from "../source.ts";
import { queries, RESOURCES, type Resource } from "./queries.ts";

/** Lists and watches the objects of one query: a Reflector. */
export interface Following {
  start(): void;
  stop(): Promise<void>;
  /** As `Reflector.again`. */
  again(keys: Iterable<string>): void;
}

/** Options of a `KubernetesSource`. */
export interface KubernetesOptions {
  /** Creates a reflector; it reports nothing before it is started. */
  readonly follow: (query: ResourceQuery, events: ReflectorEvents) => Following;
  /** Name of this node's Node object. */
  readonly nodeName: string;
  /** Endpoints in these ranges are rejected. */
  readonly clusterSetCidrs?: readonly Cidr[];
  /** Maximum endpoints of the slices of one namespace; default: no limit. */
  readonly mostEndpoints?: number;
  /** For tests. */
  readonly limits?: Omit<FactLimits, "room">;
  /** Called when the state of a resource changes. */
  readonly observe?: (resource: Resource, state: ReflectorState) => void;
}

/** Takes what was parsed. */
interface Table {
  begin(): void;
  end(): void;
  set(key: string, next: ParsedObject<unknown> | undefined, at: number): void;
}

/** State before the first response. */
const UNANSWERED: ReflectorState = { reason: "listing", detail: "no response yet" };

/**
 * ServiceImports, their EndpointSlices, this node's Node, ClusterProperties and IPAddresses of VIPs of an API server. The reflectors
 * handle faults of the server; without events, the last known state stays. README.md lists the requests.
 */
export class KubernetesSource implements Source {
  readonly name = "kubernetes";
  readonly #options: KubernetesOptions;
  readonly #following: Following[] = [];
  readonly #states = new Map<Resource, ReflectorState>();
  readonly #unlisted = new Set<Resource>(RESOURCES);
  #tables: FactTables | undefined;

  constructor(options: KubernetesOptions) {
    this.#options = options;
  }

  /** State of each resource; empty before the start. */
  get states(): ReadonlyMap<Resource, ReflectorState> {
    return this.#states;
  }

  /** Number of valid objects of each resource. */
  get sizes(): ReadonlyMap<Resource, number> {
    return new Map(RESOURCES.map((resource) => [resource, this.#tables?.[resource].size ?? 0]));
  }

  start(events: SourceEvents): void {
    const { nodeName, follow, mostEndpoints = Number.POSITIVE_INFINITY, limits } = this.#options;
    const reflectors = new Map<Resource, Following>();
    const room = (resource: Resource, keys: Iterable<string>) =>
      reflectors.get(resource)?.again(keys);
    const tables = factTables(events, {
      ...limits,
      room: (resource) => room(resource, tables[resource].takeLeftOut()),
    });
    const parse = this.#parsers();
    const wanted = queries(nodeName);
    const slices = new SliceQuota(tables.endpointslices, mostEndpoints, {
      problems: (object, problems) => events.problems(object, problems),
      room: (keys) => room("endpointslices", keys),
    });
    for (const resource of RESOURCES) {
      const table: Table = resource === "endpointslices" ? slices : tables[resource];
      // A server that ignores the field selector must not report another node as this one.
      const foreign = (key: string): boolean => resource === "nodes" && key !== nodeName;
      const following = follow(wanted[resource], {
        changed: (key, object, at) => {
          if (foreign(key)) return;
          table.set(key, parse[resource](object), at);
        },
        removed: (key, at) => table.set(key, undefined, at),
        listed: () => {
          if (this.#unlisted.delete(resource) && this.#unlisted.size === 0) events.listed();
        },
        state: (state) => {
          if (state.reason === "listing") table.begin();
          else table.end();
          this.#setState(resource, state);
        },
      });
      this.#following.push(following);
      reflectors.set(resource, following);
    }
    this.#tables = tables;
    // A server that accepts connections but never responds is detected only after half a minute.
    for (const resource of RESOURCES) this.#setState(resource, UNANSWERED);
    for (const following of this.#following) following.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#following.map((following) => following.stop()));
  }

  #parsers(): Readonly<Record<Resource, (object: unknown) => ParsedObject<unknown>>> {
    const { clusterSetCidrs } = this.#options;
    const interner = new Interner();
    return {
      serviceimports: (object) => parseImport(object, interner),
      endpointslices: (object) => parseSlice(object, clusterSetCidrs, interner),
      nodes: parseNode,
      clusterproperties: parseClusterProperty,
      ipaddresses: parseIpAddress,
    };
  }

  #setState(resource: Resource, state: ReflectorState): void {
    this.#states.set(resource, state);
    this.#options.observe?.(resource, state);
  }
}
