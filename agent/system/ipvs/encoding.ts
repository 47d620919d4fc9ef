import type { Family } from "../../../api/address.ts";
import { attribute, locate, nested, type Span } from "../netlink/attributes.ts";
import { GENERIC_HEADER, genericPayload } from "../netlink/generic.ts";
import {
  ADDRESS_FAMILY,
  familyOf,
  IP_PROTOCOL,
  protocolOf,
  readAddress,
  readText,
  readUint16,
  readUint16BE,
  readUint32,
  readUint64,
  text,
  uint16,
  uint16BE,
  uint32,
} from "../netlink/values.ts";
import type { Command, Destination, ListedDestination, Server, ServerName } from "./object.ts";

/**
 * The messages of the generic netlink family IPVS (linux/ip_vs.h) that we use. Ports and the IPv4 mask are in network byte
 * order, all else in that of the machine.
 */

/** IPVS_GENL_NAME. */
export const IPVS = "IPVS";
/** IPVS_GENL_VERSION. */
const VERSION = 1;

/** IPVS_CMD_… */
const COMMAND = {
  "new-server": 1,
  "set-server": 2,
  "delete-server": 3,
  "new-destination": 5,
  "set-destination": 6,
  "delete-destination": 7,
} as const satisfies Record<Command["kind"], number>;
const GET_SERVICE = 4;
const GET_DEST = 8;
const SET_CONFIG = 12;
const GET_CONFIG = 13;

/** IPVS_CMD_ATTR_… */
const PART = { service: 1, dest: 2, tcpTimeout: 4 } as const;
/** IPVS_SVC_ATTR_… */
const SERVICE = {
  family: 1,
  protocol: 2,
  address: 3,
  port: 4,
  firewallMark: 5,
  scheduler: 6,
  flags: 7,
  timeout: 8,
  netmask: 9,
} as const;
/** IPVS_DEST_ATTR_… */
const DEST = {
  address: 1,
  port: 2,
  method: 3,
  weight: 4,
  upper: 5,
  lower: 6,
  active: 7,
  inactive: 8,
  family: 11,
  stats64: 12,
} as const;
/** IPVS_STATS_ATTR_CONNS. */
const CONNECTIONS = 1;

/** Bytes of `union nf_inet_addr`; an IPv4 address is its first four. */
const ADDRESS = 16;
/** IP_VS_CONN_F_MASQ: by NAT. */
const NAT = 0;
/** IP_VS_SVC_F_HASHED: added by the kernel. */
const HASHED = 0x2;

/** The payload of a request for all virtual servers of both families. */
export function encodeServersRequest(): Buffer {
  return genericPayload(GET_SERVICE, VERSION);
}

/** The payload of a request for all destinations of one. */
export function encodeDestinationsRequest(server: ServerName): Buffer {
  return genericPayload(GET_DEST, VERSION, nested(PART.service, ...nameOf(server)));
}

/** The payload of a request for IPVS's timeouts. */
export function encodeTimeoutsRequest(): Buffer {
  return genericPayload(GET_CONFIG, VERSION);
}

/** The payload of a change of the timeout of established TCP connections, in seconds; others do not change. */
export function encodeTcpTimeout(seconds: number): Buffer {
  return genericPayload(SET_CONFIG, VERSION, attribute(PART.tcpTimeout, uint32(seconds)));
}

/** Reads the timeout of established TCP connections, in seconds; undefined if the message has none. */
export function decodeTcpTimeout(payload: Buffer): number | undefined {
  return readUint32(payload, attributesOf(payload), PART.tcpTimeout);
}

/** The payload of a change. */
export function encodeCommand(command: Command): Buffer {
  const { kind, server } = command;
  const terms = kind === "new-server" || kind === "set-server" ? termsOf(command.server) : [];
  const parts = [nested(PART.service, ...nameOf(server), ...terms)];
  if ("destination" in command) parts.push(encodeDestination(server, command.destination));
  return genericPayload(COMMAND[kind], VERSION, ...parts);
}

function nameOf({ family, protocol, address, port }: ServerName): Buffer[] {
  return [
    attribute(SERVICE.family, uint16(ADDRESS_FAMILY[family])),
    attribute(SERVICE.protocol, uint16(IP_PROTOCOL[protocol])),
    attribute(SERVICE.address, addressBytes(address)),
    attribute(SERVICE.port, uint16BE(port)),
  ];
}

function termsOf({ family, scheduler, flags, timeout }: Server): Buffer[] {
  // `struct ip_vs_flags`: the bits, and a mask of those that count.
  const bits = Buffer.concat([uint32(flags), uint32(0xffffffff)]);
  // Persistence per client address. For IPv6 the mask is a prefix length, in the byte order of the machine.
  const mask = uint32(family === "IPv4" ? 0xffffffff : 128);
  return [
    attribute(SERVICE.scheduler, text(scheduler)),
    attribute(SERVICE.flags, bits),
    attribute(SERVICE.timeout, uint32(timeout)),
    attribute(SERVICE.netmask, mask),
  ];
}

function encodeDestination({ family }: ServerName, destination: Destination): Buffer {
  return nested(
    PART.dest,
    attribute(DEST.address, addressBytes(destination.address)),
    attribute(DEST.port, uint16BE(destination.port)),
    attribute(DEST.method, uint32(NAT)),
    attribute(DEST.weight, uint32(destination.weight)),
    attribute(DEST.upper, uint32(0)),
    attribute(DEST.lower, uint32(0)),
    attribute(DEST.family, uint16(ADDRESS_FAMILY[family])),
  );
}

/** Reads a virtual server. Undefined if it is malformed, or one by firewall mark. */
export function decodeServer(payload: Buffer): Server | undefined {
  const within = locate(payload, attributesOf(payload), PART.service);
  const family = familyOf(readUint16(payload, within, SERVICE.family));
  const protocol = protocolOf(readUint16(payload, within, SERVICE.protocol));
  if (family === undefined || protocol === undefined) return undefined;
  const address = decodeAddress(payload, within, SERVICE.address, family);
  const port = readUint16BE(payload, within, SERVICE.port);
  const scheduler = readText(payload, within, SERVICE.scheduler);
  const bits = readUint64(payload, within, SERVICE.flags);
  const timeout = readUint32(payload, within, SERVICE.timeout);
  if (address === undefined || port === undefined || scheduler === undefined) return undefined;
  if (bits === undefined || timeout === undefined) return undefined;
  const flags = (Number(bits & 0xffffffffn) & ~HASHED) >>> 0;
  return { family, protocol, address, port, scheduler, flags, timeout };
}

/** Reads a destination of a server of this family. Undefined if it is malformed, or of another family. */
export function decodeDestination(payload: Buffer, family: Family): ListedDestination | undefined {
  const within = locate(payload, attributesOf(payload), PART.dest);
  const number = (type: number) => readUint32(payload, within, type);
  const address = decodeAddress(payload, within, DEST.address, family);
  const port = readUint16BE(payload, within, DEST.port);
  const own = readUint16(payload, within, DEST.family);
  const [weight, method] = [number(DEST.weight), number(DEST.method)];
  const [active, inactive] = [number(DEST.active), number(DEST.inactive)];
  if (address === undefined || port === undefined || weight === undefined) return undefined;
  if (method === undefined || active === undefined || inactive === undefined) return undefined;
  if (own !== undefined && own !== ADDRESS_FAMILY[family]) return undefined;
  const limited = (number(DEST.upper) ?? 0) !== 0 || (number(DEST.lower) ?? 0) !== 0;
  const plain = method === NAT && !limited;
  const total = readUint64(payload, locate(payload, within, DEST.stats64), CONNECTIONS) ?? 0n;
  return { address, port, weight: weight | 0, plain, active, inactive, total };
}

function attributesOf(payload: Buffer): Span {
  return { from: GENERIC_HEADER, to: payload.length };
}

function decodeAddress(bytes: Buffer, within: Span | undefined, type: number, family: Family) {
  return readAddress.IPv6(bytes, within, type)?.slice(0, family === "IPv4" ? 8 : undefined);
}

function addressBytes(hex: string): Buffer {
  const bytes = Buffer.alloc(ADDRESS);
  bytes.write(hex, "hex");
  return bytes;
}
