import { addressFromHex, type Family } from "../../../api/address.ts";
import { isLabelName, type ObjectKey } from "../../../api/names.ts";
import { isProtocol, type Protocol } from "../../../api/protocol.ts";
import { destination } from "../../plan/virtual-service.ts";
import type { Destination, Server, ServerName } from "../../system/ipvs/object.ts";

/** A destination as one text: `0a01000b 8080`. */
export type DestinationKey = `${string} ${number}`;
/** A port of a VIP: `TCP 80`. */
export type PortKey = `${Protocol} ${number}`;

/** How a virtual server selects destinations. */
export type Terms = Pick<Server, "scheduler" | "flags" | "timeout">;

/** What the kernel holds of one VIP: all that belongs to it is one object, because its address stays as long as one of its servers has connections. */
export interface Vip {
  /** True if our device has the address. */
  readonly isOnDevice: boolean;
  /** True if the guard's tables list it, as VIPs outside the ClusterSet CIDRs. */
  readonly isExplicit: boolean;
  /** True if no import has it any more, and it stays until its last connection has ended. Unknown, so false, after reading. */
  readonly isLeaving: boolean;
  readonly ports: ReadonlyMap<PortKey, Port>;
}

/** What the kernel holds of a port: a virtual server, or an element of the guard, or both. */
export interface Port {
  /**
   * `ours`: it has our mark, or the guard admits connections to it; `far`: it has our mark, but its address is not ours: it is used if an import needs it, and
   * else left alone; `foreign`: it is another program's, and stays.
   */
  readonly owner: "ours" | "far" | "foreign";
  /** The import for which the guard admits new connections; `UNNAMED` if another program wrote the element. */
  readonly served?: string | undefined;
  readonly server?: VirtualServer | undefined;
  /** The service, such as `ns/name:port`, that the foreign server keeps out. */
  readonly blocked?: string | undefined;
}

/** A virtual server. */
export interface VirtualServer {
  readonly terms: Terms;
  readonly destinations: ReadonlyMap<DestinationKey, HeldDestination>;
}

/** A destination of a virtual server. */
export interface HeldDestination {
  /** 0: it drains. */
  readonly weight: number;
  /** False if another program has changed its settings; unknown, so true, of one that drains. */
  readonly isPlain: boolean;
  /** True if it drains, and had no connection when it was last read. */
  readonly isIdle: boolean;
}

/** In the place of an import that the guard's element does not name. */
export const UNNAMED = "?";

/** A VIP that the kernel knows nothing of. */
export const NO_VIP: Vip = {
  isOnDevice: false,
  isExplicit: false,
  isLeaving: false,
  ports: new Map(),
};

/** The bit of `Server.flags` that marks our virtual servers: no scheduler of the kernel uses it. */
export const MARK = 0x20;

/** Whether a virtual server carries our mark. */
export function isMarked({ flags }: Pick<Terms, "flags">): boolean {
  return (flags & MARK) !== 0;
}

/** Whether two virtual servers have the same terms. */
export function isSameTerms(a: Terms, b: Terms): boolean {
  return a.scheduler === b.scheduler && a.flags === b.flags && a.timeout === b.timeout;
}

/** False for a comment of the guard's set that another program wrote. */
export function isImportKey(text: string): text is ObjectKey {
  const [namespace = "", name = "", ...rest] = text.split("/");
  return rest.length === 0 && isLabelName(namespace) && isLabelName(name);
}

/**
 * The VIP as one text, the digest of its object: its flags, and a line for each port, such as
 * `TCP 80|ours|demo/serve|wrr 32 0|0a01000b 8080 1,0a02000b 8080 0|`. Undefined for one that the kernel knows nothing of.
 */
export function vipText({ isOnDevice, isExplicit, isLeaving, ports }: Vip): string | undefined {
  if (!isOnDevice && !isExplicit && ports.size === 0) return undefined;
  const isBlocked = [...ports.values()].some(({ blocked }) => blocked !== undefined);
  const flags = [isBlocked && BLOCKED, isOnDevice && "a", isExplicit && "e", isLeaving && "l"];
  const lines = [...ports].map(([key, port]) => portText(key, port)).sort();
  return [flags.filter(Boolean).join(""), ...lines].join("\n");
}

/** The first character of the text of a VIP on which a foreign server is in the way. */
export const BLOCKED = "b";

/** Parses the text of a VIP. */
export function parseVip(text: string | undefined): Vip {
  if (text === undefined) return NO_VIP;
  const [flags = "", ...lines] = text.split("\n");
  return {
    isOnDevice: flags.includes("a"),
    isExplicit: flags.includes("e"),
    isLeaving: flags.includes("l"),
    ports: new Map(lines.map(parsePort)),
  };
}

function portText(key: PortKey, { owner, served = "", server, blocked = "" }: Port): string {
  if (server === undefined) return [key, owner, served, "", "", blocked].join("|");
  const { scheduler, flags, timeout } = server.terms;
  const destinations = [...server.destinations].map(
    ([one, { weight, isPlain, isIdle }]) =>
      `${one} ${weight}${weight === 0 ? (isIdle ? IDLE : "") : isPlain ? "" : CHANGED}`,
  );
  const terms = `${scheduler} ${flags} ${timeout}`;
  return [key, owner, served, terms, destinations.sort().join(), blocked].join("|");
}

/** After a weight: no connection is left, or another program has changed the settings. */
const IDLE = ".";
const CHANGED = "!";

function parsePort(line: string): [PortKey, Port] {
  const [key, owner, served, terms, destinations = "", blocked] = line.split("|");
  const port = {
    owner: owner as Port["owner"],
    served: served || undefined,
    blocked: blocked || undefined,
  };
  if (!terms) return [key as PortKey, port];
  const [scheduler = "", flags, timeout] = terms.split(" ");
  const server = {
    terms: { scheduler, flags: Number(flags), timeout: Number(timeout) },
    destinations: new Map(destinations.split(",").filter(Boolean).map(parseDestination)),
  };
  return [key as PortKey, { ...port, server }];
}

function parseDestination(text: string): [DestinationKey, HeldDestination] {
  const [address, port, weight = ""] = text.split(" ");
  const held = {
    weight: Number.parseInt(weight, 10),
    isPlain: !weight.endsWith(CHANGED),
    isIdle: weight.endsWith(IDLE),
  };
  return [`${address} ${Number(port)}`, held];
}

/** The key of a port. */
export function portKey({ protocol, port }: Pick<ServerName, "protocol" | "port">): PortKey {
  return `${protocol} ${port}`;
}

/** The virtual server of a port. */
export function serverName(family: Family, address: string, key: PortKey): ServerName {
  const [protocol, port] = key.split(" ");
  if (!isProtocol(protocol)) throw new TypeError(`no port: ${key}`);
  return { family, address, protocol, port: Number(port) };
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
