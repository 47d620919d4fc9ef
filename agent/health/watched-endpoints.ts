import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { admits } from "../../api/health.ts";
import { inTurns } from "../../api/in-turns.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import { Endpoints } from "../model/endpoints.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import type { TcpEndpoint } from "./evidence.ts";
import { endpointName } from "./verdict.ts";

/** The facts in which endpoints are looked up. */
export interface EndpointFacts {
  readonly imports: ReadonlyMap<ObjectKey, ImportFact>;
  readonly slices: ReadonlyMap<ObjectKey, SliceFact>;
  readonly node: NodeFact;
}

/** Endpoints that a cluster's slices list; for each, the namespaces of these. */
export type Listed = ReadonlyMap<TcpEndpoint, ReadonlySet<string>>;

/** An endpoint of a group. */
export interface Member extends TcpEndpoint {
  /** True if it certainly runs on this node. */
  readonly isHere: boolean;
}

/** The endpoints of one family, import and cluster, on one port. Policies apply to a Service: a group says little about another one. */
export interface Group {
  /** Unique: `shop/web c2 IPv4 8080`. */
  readonly name: string;
  readonly namespace: string;
  /** ID of the cluster, or empty. */
  readonly cluster: string;
  /** True for this node's cluster. */
  readonly isOwn: boolean;
  /** By `endpointName`, without endpoints that are not ready. */
  readonly members: ReadonlyMap<string, Member>;
}

/** A group, by its slices. */
interface Listing {
  readonly name: string;
  readonly slices: readonly SliceFact[];
  readonly port: number;
}

/**
 * Members of the groups of one namespace that are evaluated together, except that one group always is: a tenant may list the same endpoints in thousands of Services with a
 * hundred ports each. Others follow in the next checks.
 */
const MOST_MEMBERS = 4_096;
/** Times that a random endpoint may be one that is not wanted, before fewer are returned. */
const MOST_MISSES = 64;

/**
 * The endpoints whose silence matters, for one check. Looked up by a walk over all slices, some milliseconds with a hundred thousand endpoints: there is something to look up only
 * after connections were not answered.
 */
export class WatchedEndpoints {
  readonly #facts: EndpointFacts;
  readonly #random: () => number;
  /** Found once: a check looks up groups and samples hundreds of times. */
  #slices: readonly SliceFact[] | undefined;
  /** The same, by the name of their group, without the port. */
  #lists: ReadonlyMap<string, readonly SliceFact[]> | undefined;

  constructor(facts: EndpointFacts, random: () => number) {
    this.#facts = facts;
    this.#random = random;
  }

  /** Whether there are any. */
  get any(): boolean {
    return this.#walk().next().done === false;
  }

  /** The groups that list any of these endpoints; of a namespace with too many, some at random. */
  groupsOf(endpoints: readonly TcpEndpoint[]): Group[] {
    const addresses = new Set(endpoints.map(({ address }) => address));
    const wanted = new Set(endpoints.map(endpointName));
    const ports = new Set(endpoints.map(({ port }) => port));
    this.#lists ??= Map.groupBy(
      this.#watched,
      (one) => `${one.importKey} ${clusterOf(one)} ${one.family}`,
    );
    const listed = [...this.#lists].flatMap(([key, slices]): Listing[] => {
      if (!slices.some((one) => one.endpoints.includeAny(addresses))) return [];
      const own = new Set(slices.flatMap(portsOf)).intersection(ports);
      return [...own].map((port) => ({ name: `${key} ${port}`, slices, port }));
    });
    const { groups, isCut } = this.#groupsIn(listed, wanted);
    if (!isCut) return groups;
    const inTurns = listed.map((one) => ({ ...one, chance: this.#random() }));
    return this.#groupsIn(
      inTurns.sort((a, b) => a.chance - b.chance),
      wanted,
    ).groups;
  }

  /** Those of these groups that have a wanted endpoint. `isCut`: a namespace has too many. */
  #groupsIn(listed: readonly Listing[], wanted: ReadonlySet<string>) {
    const { node } = this.#facts;
    const spent = new Map<string, number>();
    let isCut = false;
    const groups: Group[] = [];
    for (const { name, slices, port } of listed) {
      const [first] = slices;
      if (first === undefined) continue;
      const [namespace, cluster] = [namespaceOf(first), clusterOf(first)];
      const before = spent.get(namespace) ?? 0;
      isCut ||= before >= MOST_MEMBERS;
      if (before >= MOST_MEMBERS) continue;
      const members = membersOf(slices, port, node);
      spent.set(namespace, before + members.size);
      if (!members.keys().some((one) => wanted.has(one))) continue;
      const isOwn = cluster !== "" && cluster === node.cluster;
      groups.push({ name, namespace, cluster, isOwn, members });
    }
    return { groups, isCut };
  }

  /** Clusters besides this one whose endpoints show whether the node's uplink works. Namespaces take turns: one that invents clusters hides none of others. */
  get neighbours(): string[] {
    const beyond = this.#watched.filter((slice) => this.#isBeyondUplink(slice));
    const lists = Map.groupBy(beyond, namespaceOf).values();
    return [...new Set(inTurns(lists.map((all) => [...new Set(all.map(clusterOf))])))];
  }

  /**
   * Whether this node may connect to an endpoint that a slice lists for a cluster. Where clusters have declared their ranges, only within those
   * of members: a user of a namespace can write slices with any cluster and address.
   */
  mayProbe(cluster: string, { address }: TcpEndpoint): boolean {
    const { node } = this.#facts;
    const declared = node.endpointRanges.get(cluster);
    if (declared !== undefined) return isWithin(declared, address);
    if (node.endpointRanges.size === 0) return true;
    const own = [...node.podCidrs, ...node.nodePodCidrs, ...node.network.ranges];
    return cluster !== "" && cluster === node.cluster && isWithin(own, address);
  }

  /** The only namespace with slices of a cluster; empty if there are several. */
  ownerOf(cluster: string): string {
    const slices = this.#watched.filter((slice) => clusterOf(slice) === cluster);
    const [first = "", second] = new Set(slices.map(namespaceOf));
    return second === undefined ? first : "";
  }

  /** True if a cluster has declared its ranges, so that what its slices list outside is not watched. */
  isDeclared(cluster: string): boolean {
    return this.#facts.node.endpointRanges.has(cluster);
  }

  /** Whether all of a cluster may be found silent at once: of the own one only if all endpoints are watched. */
  hasWhole(cluster: string): boolean {
    const { node } = this.#facts;
    return cluster !== node.cluster || node.health === "all";
  }

  /** The number of namespaces with slices of a cluster. */
  namespacesOf(cluster: string): number {
    const slices = this.#watched.filter((slice) => clusterOf(slice) === cluster);
    return new Set(slices.map(namespaceOf)).size;
  }

  /** The number of endpoints of a cluster, without those of `except` (names), and without those that the namespace `without` alone lists. */
  countOf(cluster: string, except: ReadonlySet<string>, without: string): number {
    const found = new Set<string>();
    for (const slice of this.#watched) {
      if (clusterOf(slice) !== cluster || namespaceOf(slice) === without) continue;
      const ports = portsOf(slice);
      for (const { address, condition } of slice.endpoints) {
        if (condition === "not-ready") continue;
        for (const port of ports) found.add(endpointName({ address, port }));
      }
    }
    return found.difference(except).size;
  }

  /** Those of these endpoints that are watched, by cluster. One may be in several: a cluster can list endpoints of another. */
  byCluster(endpoints: readonly TcpEndpoint[]): Map<string, Listed> {
    const found = new Map<string, Map<TcpEndpoint, Set<string>>>();
    const byAddress = Map.groupBy(endpoints, ({ address }) => address);
    const addresses = new Set(byAddress.keys());
    for (const slice of this.#watched) {
      if (!slice.endpoints.includeAny(addresses)) continue;
      const ports = new Set(portsOf(slice));
      for (const one of [...slice.endpoints].flatMap(
        ({ address }) => byAddress.get(address) ?? [],
      )) {
        if (!ports.has(one.port)) continue;
        const members = found.get(clusterOf(slice)) ?? new Map<TcpEndpoint, Set<string>>();
        members.set(one, (members.get(one) ?? new Set<string>()).add(namespaceOf(slice)));
        found.set(clusterOf(slice), members);
      }
    }
    return found;
  }

  /**
   * Up to `count` endpoints of a cluster at random, with different addresses, none of `except` (names), and of as many namespaces as there are: who may
   * write slices of one namespace must not decide about a cluster. None of the namespace `without`.
   */
  sample(cluster: string, count: number, except: ReadonlySet<string>, without = ""): TcpEndpoint[] {
    const slices = this.#watched.filter(
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
      if (condition === "not-ready" || except.has(endpointName({ address, port }))) continue;
      if (this.mayProbe(cluster, { address, port })) chosen.set(address, { address, port });
    }
    return [...chosen.values()];
  }

  get #watched(): readonly SliceFact[] {
    this.#slices ??= [...this.#walk()];
    return this.#slices;
  }

  *#walk(): Generator<SliceFact> {
    const { imports, slices, node } = this.#facts;
    const families = new Set(node.clusterSetCidrs.map(({ family }) => family));
    for (const slice of slices.values()) {
      const fact = imports.get(slice.importKey);
      if (fact === undefined || fact.headless || !slice.active || slice.endpoints.length === 0)
        continue;
      // A node without IPv6 would find all of its endpoints silent.
      if (!families.has(slice.family)) continue;
      if (!admits(fact.health ?? node.health, slice.cluster, node.cluster)) continue;
      const endpoints = this.#ownOf(slice);
      if (endpoints.length > 0 && portsOf(slice).length > 0) yield { ...slice, endpoints };
    }
  }

  /** Without addresses that are not its cluster's own: a slice may name any cluster and any address, and its clients must not decide about endpoints of others. */
  #ownOf({ cluster, endpoints, family }: SliceFact): SliceFact["endpoints"] {
    const { endpointRanges } = this.#facts.node;
    const ranges = cluster === undefined ? undefined : endpointRanges.get(cluster);
    if (ranges !== undefined) return endpoints.within(ranges).inside;
    const ofOthers = endpoints.within([...endpointRanges.values()].flat());
    if (ofOthers.inside.length === 0) return endpoints;
    const rest = new Set(ofOthers.outside);
    return Endpoints.of(
      family,
      [...endpoints].filter(({ address }) => rest.has(address)),
    );
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

/** Which of these groups list each of these endpoints, by name: each member is looked at once, as there may be thousands of both. PURE. */
export function groupsByMember(
  endpoints: readonly TcpEndpoint[],
  groups: readonly Group[],
): ReadonlyMap<string, readonly Group[]> {
  const found = new Map(endpoints.map((one): [string, Group[]] => [endpointName(one), []]));
  for (const group of groups) for (const name of group.members.keys()) found.get(name)?.push(group);
  return found;
}

function clusterOf({ cluster = "" }: SliceFact): string {
  return cluster;
}

function namespaceOf({ importKey }: SliceFact): string {
  return namesOf(importKey).namespace;
}

function membersOf(
  slices: readonly SliceFact[],
  port: number,
  { cluster: own, name: here }: NodeFact,
): Map<string, Member> {
  const members = new Map<string, Member>();
  for (const slice of slices.filter((one) => portsOf(one).includes(port))) {
    for (const { address, condition, nodeName } of slice.endpoints) {
      if (condition === "not-ready") continue;
      const isHere = own !== undefined && slice.cluster === own && nodeName === here;
      members.set(endpointName({ address, port }), { address, port, isHere });
    }
  }
  return members;
}

function isWithin(ranges: readonly Cidr[], text: string): boolean {
  const address = parseAddress(text);
  return isAddress(address) && ranges.some((range) => contains(range, address));
}

function portsOf({ ports }: SliceFact): number[] {
  return ports.filter(({ protocol }) => protocol === "TCP").map(({ port }) => port);
}
