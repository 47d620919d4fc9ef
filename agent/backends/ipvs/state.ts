import { addressFromHex, type Family, isAddress, parseAddress } from "../../../api/address.ts";
import type { ObjectKey } from "../../../api/names.ts";
import { isProtocol, type Protocol } from "../../../api/protocol.ts";
import { destination } from "../../plan/virtual-service.ts";
import type { Destination, Server, ServerName } from "../../system/ipvs/object.ts";
import type { Setting } from "./settings.ts";

/** A virtual server of one family as one text: `f1000001 TCP 80`. */
export type ServerKey = `${string} ${Protocol} ${number}`;

/** A destination as one text: `0a01000b 8080`. */
export type DestinationKey = `${string} ${number}`;

/** How a virtual server picks destinations. */
export type Terms = Pick<Server, "scheduler" | "flags" | "timeout">;

/** A virtual server as it should be. */
export interface WantedServer {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly terms: Terms;
  /** Who takes new connections; empty means that the guard refuses them. */
  readonly endpoints: readonly DestinationKey[];
  /** Present if connections to others are to be reset: every endpoint that a slice lists, as `destination` spells it. */
  readonly listed?: ReadonlySet<string>;
}

/** A destination that the kernel is believed to have. */
export interface StandingDestination {
  readonly weight: number;
  /** False if somebody else has set it up otherwise. */
  readonly plain: boolean;
  /** True if it takes nothing new, and had no connection when it was last looked at. */
  readonly idle: boolean;
}

/** A virtual server that the kernel is believed to have. */
export interface StandingServer {
  readonly terms: Terms;
  readonly destinations: ReadonlyMap<DestinationKey, StandingDestination>;
  /** True if nothing says that its address is ours: it matters only if the address is wanted. */
  readonly far?: true;
}

/** What the kernel should hold. */
export interface Changes {
  /** True if all that is wanted is named; else what may differ from before. */
  readonly complete: boolean;
  /** Virtual servers; undefined for one that is not wanted any more. */
  readonly servers: ReadonlyMap<ServerKey, WantedServer | undefined>;
  /** Virtual servers that stay as they are, whether they are there or not. */
  readonly kept: ReadonlySet<ServerKey>;
  /** By address: whether it is wanted on the device. */
  readonly vips: ReadonlyMap<string, boolean>;
  /** By address: whether an endpoint that may run here has it. */
  readonly hairpins: ReadonlyMap<string, boolean>;
}

/** The part of the netfilter rules that changes: elements of sets. */
export interface GuardSets {
  /** Virtual servers that take new connections, and the import of each. */
  readonly served: Map<ServerKey, string>;
  /** VIPs outside of the ClusterSet CIDR. */
  readonly explicit: Set<string>;
  /** Addresses of endpoints that may run here. */
  readonly hairpins: Set<string>;
}

/** A wanted server that is not there, because somebody else's is. */
export type Blocked = Pick<WantedServer, "importKey" | "servicePort">;

/** What the agent thinks the kernel holds of one family. */
export interface Believed {
  /** All virtual servers, those of others included (`isOurs`); of those that are far and not ours without destinations. */
  readonly servers: Map<ServerKey, StandingServer>;
  /** Addresses of the device. */
  readonly vips: Set<string>;
  /** VIPs that nobody wants, and that stay until the last connection to them has ended. */
  readonly leaving: Set<string>;
  readonly sets: GuardSets;
  /** Wanted servers in whose place somebody else's stands; empty after reading back. */
  readonly blocked: Map<ServerKey, Blocked>;
  /** What is written in the comments of our rules, in their order; empty if there are none. */
  rules: readonly string[];
  /** Switches of the kernel that are not as they should be. */
  wrong: readonly Setting[];
  /** True if the device of a kube-proxy in ipvs mode was there: that deletes what it does not know. */
  kubeProxy: boolean;
}

/** What is believed of a kernel that holds nothing of ours. */
export function nothing(): Believed {
  return {
    servers: new Map(),
    vips: new Set(),
    leaving: new Set(),
    sets: { served: new Map(), explicit: new Set(), hairpins: new Set() },
    blocked: new Map(),
    rules: [],
    wrong: [],
    kubeProxy: false,
  };
}

/** The bit of `Server.flags` that says whose a virtual server is: none of the kernel's schedulers has a use for it. */
export const MARK = 0x20;

/** Whether a virtual server carries our mark. */
export function isMarked({ flags }: Terms): boolean {
  return (flags & MARK) !== 0;
}

/**
 * Whether a virtual server on an address of ours is ours: it carries our mark, or somebody has taken that from it, and the
 * guard leads connections to it: it never does to somebody else's.
 */
export function isOurs({ servers, sets }: Pick<Believed, "servers" | "sets">, key: ServerKey) {
  const server = servers.get(key);
  return server !== undefined && (isMarked(server.terms) || sets.served.has(key));
}

/** The key of a virtual server. */
export function serverKey({ address, protocol, port }: Omit<ServerName, "family">): ServerKey {
  return `${address} ${protocol} ${port}`;
}

/** What such a key stands for. */
export function serverName(key: ServerKey, family: Family): ServerName {
  const [address = "", protocol, port] = key.split(" ");
  if (!isProtocol(protocol)) throw new TypeError(`no key of a virtual server: ${key}`);
  return { family, address, protocol, port: Number(port) };
}

/** The address of a virtual server. */
export function vipOf(key: ServerKey): string {
  return key.slice(0, key.indexOf(" "));
}

/** The key of a destination. */
export function destinationKey({ address, port }: Omit<Destination, "weight">): DestinationKey {
  return `${address} ${port}`;
}

/** What such a key stands for, with a weight. */
export function destinationOf(key: DestinationKey, weight: number): Destination {
  const [address = "", port] = key.split(" ");
  return { address, port: Number(port), weight };
}

/** As slices and logs spell it: `10.1.0.11:8080`. */
export function destinationText(key: DestinationKey): string {
  const { address, port } = destinationOf(key, 0);
  return destination(addressFromHex(address).text, port);
}

/** The digits of canonical addresses. */
export function digitsOf(addresses: readonly string[]): string[] {
  return addresses.flatMap((text) => {
    const address = parseAddress(text);
    return isAddress(address) ? [address.hex] : [];
  });
}
