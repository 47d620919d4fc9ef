import { admits } from "../../api/health.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import type { TcpEndpoint } from "./evidence.ts";

/** The facts in which endpoints are looked up. */
export interface EndpointFacts {
  readonly imports: ReadonlyMap<ObjectKey, ImportFact>;
  readonly slices: ReadonlyMap<ObjectKey, SliceFact>;
  readonly node: NodeFact;
}

/** Endpoints that a cluster's slices list; for each, the namespaces of these. */
export type Listed = ReadonlyMap<TcpEndpoint, ReadonlySet<string>>;

/** Times that a random endpoint may be one that is not wanted, before fewer are returned. */
const MOST_MISSES = 16;

/**
 * The endpoints whose silence matters. Looked up by a walk over all slices, some milliseconds with a hundred thousand endpoints: there is something to look up only
 * after connections were not answered.
 */
export class WatchedEndpoints {
  readonly #facts: EndpointFacts;
  readonly #random: () => number;

  constructor(facts: EndpointFacts, random: () => number) {
    this.#facts = facts;
    this.#random = random;
  }

  /** Whether there are any. */
  get any(): boolean {
    return this.#watched().next().done === false;
  }

  /** Up to `count` clusters besides this one that show whether the node's uplink works, at random, of as many namespaces as there are. If possible, none of `silent`. */
  others(cluster: string, count: number, silent: Pick<ReadonlySet<string>, "has">): string[] {
    const slices = [...this.#watched()].filter(
      (slice) => clusterOf(slice) !== cluster && this.#isBeyondUplink(slice),
    );
    const audible = slices.filter((slice) => !silent.has(clusterOf(slice)));
    const namespaces = this.#byNamespace(audible.length > 0 ? audible : slices);
    const chosen = new Set<string>();
    for (let i = 0; chosen.size < count && i < count + MOST_MISSES; i++) {
      const slice = this.#one(namespaces[i % namespaces.length] ?? []);
      if (slice !== undefined) chosen.add(clusterOf(slice));
    }
    return [...chosen];
  }

  /** The only namespace with slices of a cluster; empty if there are several. */
  ownerOf(cluster: string): string {
    const slices = [...this.#watched()].filter((slice) => clusterOf(slice) === cluster);
    const [first = "", second] = new Set(slices.map(namespaceOf));
    return second === undefined ? first : "";
  }

  /** True if a cluster has declared its ranges, so that what its slices list outside is not watched. */
  isDeclared(cluster: string): boolean {
    return this.#facts.node.endpointRanges.has(cluster);
  }

  /** The number of namespaces with slices of a cluster. */
  namespacesOf(cluster: string): number {
    const slices = [...this.#watched()].filter((slice) => clusterOf(slice) === cluster);
    return new Set(slices.map(namespaceOf)).size;
  }

  /** Those of these endpoints that are watched, by cluster. One may be in several: a cluster can list endpoints of another. */
  byCluster(endpoints: readonly TcpEndpoint[]): Map<string, Listed> {
    const found = new Map<string, Map<TcpEndpoint, Set<string>>>();
    const addresses = new Set(endpoints.map(({ address }) => address));
    for (const slice of this.#watched()) {
      if (!slice.endpoints.includeAny(addresses)) continue;
      const listed = new Set([...slice.endpoints].map(({ address }) => address));
      const ports = portsOf(slice);
      for (const one of endpoints) {
        if (!listed.has(one.address) || !ports.includes(one.port)) continue;
        const members = found.get(clusterOf(slice)) ?? new Map<TcpEndpoint, Set<string>>();
        members.set(one, (members.get(one) ?? new Set<string>()).add(namespaceOf(slice)));
        found.set(clusterOf(slice), members);
      }
    }
    return found;
  }

  /**
   * Up to `count` endpoints of a cluster at random, with different addresses, none of `except`, and of as many namespaces as there are: who may
   * write slices of one namespace must not decide about a cluster. None of the namespace `without`.
   */
  sample(cluster: string, count: number, except: ReadonlySet<string>, without = ""): TcpEndpoint[] {
    const slices = [...this.#watched()].filter(
      (slice) => clusterOf(slice) === cluster && namespaceOf(slice) !== without,
    );
    const namespaces = this.#byNamespace(slices);
    const chosen = new Map<string, TcpEndpoint>();
    for (let i = 0; chosen.size < count && i < count + MOST_MISSES; i++) {
      const slice = this.#one(namespaces[i % namespaces.length] ?? []);
      const port = slice && this.#one(portsOf(slice));
      const endpoint = slice?.endpoints.at(Math.floor(this.#random() * slice.endpoints.length));
      if (port === undefined || endpoint === undefined) return [...chosen.values()];
      const { address, condition } = endpoint;
      if (condition !== "not-ready" && !except.has(address)) chosen.set(address, { address, port });
    }
    return [...chosen.values()];
  }

  *#watched(): Generator<SliceFact> {
    const { imports, slices, node } = this.#facts;
    const families = new Set(node.clusterSetCidrs.map(({ family }) => family));
    for (const slice of slices.values()) {
      const fact = imports.get(slice.importKey);
      if (fact === undefined || fact.headless || !slice.active || slice.endpoints.length === 0)
        continue;
      // A node without IPv6 would find all of its endpoints silent.
      if (!families.has(slice.family)) continue;
      if (!admits(fact.health ?? node.health, slice.cluster, node.cluster)) continue;
      const ranges =
        slice.cluster === undefined ? undefined : node.endpointRanges.get(slice.cluster);
      // A cluster must not have this node connect to addresses that are not its own.
      const endpoints = ranges ? slice.endpoints.within(ranges).inside : slice.endpoints;
      if (endpoints.length > 0 && portsOf(slice).length > 0) yield { ...slice, endpoints };
    }
  }

  /** False if it may be here, or if only a slice says that it exists: a tenant may list one that always answers. */
  #isBeyondUplink({ cluster }: SliceFact): boolean {
    const { node } = this.#facts;
    if (cluster === undefined || cluster === node.cluster) return false;
    return node.endpointRanges.size === 0 || node.endpointRanges.has(cluster);
  }

  /** In a random order. */
  #byNamespace(slices: readonly SliceFact[]): SliceFact[][] {
    return this.#shuffled([...Map.groupBy(slices, namespaceOf).values()]);
  }

  #shuffled<Value>(list: readonly Value[]): Value[] {
    const left = [...list];
    return list.flatMap(() => left.splice(Math.floor(this.#random() * left.length), 1));
  }

  #one<Value>(list: readonly Value[]): Value | undefined {
    return list[Math.floor(this.#random() * list.length)];
  }
}

function clusterOf({ cluster = "" }: SliceFact): string {
  return cluster;
}

function namespaceOf({ importKey }: SliceFact): string {
  return namesOf(importKey).namespace;
}

function portsOf({ ports }: SliceFact): number[] {
  return ports.filter(({ protocol }) => protocol === "TCP").map(({ port }) => port);
}
