import { addressFromHex, type Family } from "../../../api/address.ts";
import { isLabelName, type ObjectKey } from "../../../api/names.ts";
import { isProtocol } from "../../../api/protocol.ts";
import { destination } from "../../plan/virtual-service.ts";
import type { Destination, Server, ServerName } from "../../system/ipvs/object.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import type { ServiceChanges } from "../nft/service-ruleset.ts";
import type { Setting } from "./settings.ts";

/** A destination as one text: `0a01000b 8080`. */
export type DestinationKey = `${string} ${number}`;

/** How a virtual server selects destinations. */
export type Terms = Pick<Server, "scheduler" | "flags" | "timeout">;

/** Whether two virtual servers have the same terms. */
export function sameTerms(a: Terms, b: Terms): boolean {
  return a.scheduler === b.scheduler && a.flags === b.flags && a.timeout === b.timeout;
}

/** A desired virtual server. */
export interface DesiredServer {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly terms: Terms;
  /** Destinations of new connections with their weights; if there are none, the guard rejects connections. */
  readonly endpoints: ReadonlyMap<DestinationKey, number>;
  /** Present if connections to other endpoints end at once; as `destination` spells them. */
  readonly keeps?: ReadonlySet<string>;
}

/** A destination in the cached state. */
export interface KernelDestination {
  readonly weight: number;
  /** False if another program has changed its settings. */
  readonly plain: boolean;
  /** True if it drains, and had no connection when it was last read. */
  readonly idle: boolean;
}

/** A virtual server in the cached state. */
export interface KernelServer {
  readonly terms: Terms;
  readonly destinations: ReadonlyMap<DestinationKey, KernelDestination>;
  /** True if its address is not ours; the server then matters only if an import needs the address. */
  readonly far?: true;
}

/** What the kernel should hold. */
export type Changes = ServiceChanges<DesiredServer>;

/** The elements of the guard's sets. */
export interface GuardSets {
  /** Virtual servers that get new connections, and the import of each. */
  readonly served: Map<ServiceKey, string>;
  /** VIPs outside of the ClusterSet CIDR. */
  readonly explicit: Set<string>;
}

/** A desired server with another program's server in its place. */
export type Blocked = Pick<DesiredServer, "importKey" | "servicePort">;

/** The cached state of the kernel, for one family. */
export interface KernelState {
  /** All virtual servers, foreign ones included (`isOurs`); foreign ones that are far have no destinations. */
  readonly servers: Map<ServiceKey, KernelServer>;
  /** Addresses of the device. */
  readonly vips: Set<string>;
  /** VIPs that are no longer desired, and stay until the last connection to them has ended. */
  readonly leaving: Set<string>;
  readonly sets: GuardSets;
  /** Desired servers with another program's server in their place; empty after reading back. */
  readonly blocked: Map<ServiceKey, Blocked>;
  /** The comments of our rules, in order; empty if there are none. */
  rules: readonly string[];
  /** Sysctls that have the wrong value. */
  wrong: readonly Setting[];
  /** True while rules of another backend of ours may translate VIPs, so that the guard must not bind them. */
  shared: boolean;
  /** True if the device of a kube-proxy in ipvs mode existed, which deletes foreign servers. */
  kubeProxy: boolean;
}

/** How much to read: everything; or no elements of sets, and the destinations of these servers only. */
export type Depth = "all" | ReadonlySet<ServiceKey>;

/** The state of a kernel that holds nothing of ours. */
export function nothing(): KernelState {
  return {
    servers: new Map(),
    vips: new Set(),
    leaving: new Set(),
    sets: noSets(),
    blocked: new Map(),
    rules: [],
    wrong: [],
    shared: false,
    kubeProxy: false,
  };
}

/** Sets without elements. */
export function noSets(): GuardSets {
  return { served: new Map(), explicit: new Set() };
}

/** False for a comment of the guard's set that another program wrote. */
export function isImportKey(text: string): text is ObjectKey {
  const [namespace = "", name = "", ...rest] = text.split("/");
  return rest.length === 0 && isLabelName(namespace) && isLabelName(name);
}

/** The bit of `Server.flags` that marks our virtual servers: no scheduler of the kernel uses it. */
export const MARK = 0x20;

/** Whether a virtual server carries our mark. */
export function isMarked({ flags }: Terms): boolean {
  return (flags & MARK) !== 0;
}

/**
 * Whether a virtual server on an address of ours is ours: it has our mark, or another program removed that and the guard admits
 * connections to it.
 */
export function isOurs({ servers, sets }: Pick<KernelState, "servers" | "sets">, key: ServiceKey) {
  const server = servers.get(key);
  return server !== undefined && (isMarked(server.terms) || sets.served.has(key));
}

/** Our servers with draining destinations. */
export function draining(state: KernelState): ServiceKey[] {
  return [...state.servers].flatMap(([key, { destinations, far }]) =>
    !far && isOurs(state, key) && [...destinations.values()].some(({ weight }) => weight === 0)
      ? [key]
      : [],
  );
}

/** The server of a key. */
export function serverName(key: ServiceKey, family: Family): ServerName {
  const [address = "", protocol, port] = key.split(" ");
  if (!isProtocol(protocol)) throw new TypeError(`no key of a virtual server: ${key}`);
  return { family, address, protocol, port: Number(port) };
}

/** The address of a virtual server. */
export function vipOf(key: ServiceKey): string {
  return key.slice(0, key.indexOf(" "));
}

/** The key of a destination. */
export function destinationKey({ address, port }: Omit<Destination, "weight">): DestinationKey {
  return `${address} ${port}`;
}

/** The destination of a key, with a weight. */
export function destinationOf(key: DestinationKey, weight: number): Destination {
  const [address = "", port] = key.split(" ");
  return { address, port: Number(port), weight };
}

/** As slices and logs spell it: `10.1.0.11:8080`. */
export function destinationText(key: DestinationKey): string {
  const { address, port } = destinationOf(key, 0);
  return destination(addressFromHex(address).text, port);
}
