import { FAMILIES, type Family } from "../../../api/address.ts";
import { PROTOCOLS, type Protocol } from "../../../api/protocol.ts";
import { attribute, locate, nested, type Span } from "../netlink/attributes.ts";
import { GENERIC_HEADER, genericPayload } from "../netlink/generic.ts";
import type { Command, Destination, Server, ServerName, StandingDestination } from "./object.ts";

/**
 * The messages of the generic netlink family IPVS (linux/ip_vs.h), of which this is the part that we use. Ports and
 * the IPv4 mask are in network byte order, all else in that of the machine.
 */

/** IPVS_GENL_NAME. */
export const IPVS = "IPVS";
/** IPVS_GENL_VERSION. */
const VERSION = 1;

/** IPVS_CMD_…: what is done. */
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

/** IPVS_CMD_ATTR_…: what a message holds. */
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
  stats: 10,
  family: 11,
  stats64: 12,
} as const;
/** IPVS_STATS_ATTR_CONNS. */
const CONNECTIONS = 1;

/** AF_INET and AF_INET6. */
const FAMILY = { IPv4: 2, IPv6: 10 } as const satisfies Record<Family, number>;
const PROTOCOL = { TCP: 6, UDP: 17, SCTP: 132 } as const satisfies Record<Protocol, number>;
/** Bytes of `union nf_inet_addr`: an IPv4 address is its first four. */
const ADDRESS = 16;
/** IP_VS_CONN_F_MASQ: by NAT. */
const NAT = 0;
/** IP_VS_CONN_F_LOCALNODE: what kernels before 2.6.37 made of NAT to an address of the node's own. */
const LOCAL = 1;
/** IP_VS_SVC_F_HASHED: the kernel's own mark. */
const HASHED = 0x2;

/** The payload of a request for all virtual servers, of both families. */
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

/** The payload of a change of the timeout of established TCP connections, in seconds; of the others nothing changes. */
export function encodeTcpTimeout(seconds: number): Buffer {
  return genericPayload(SET_CONFIG, VERSION, attribute(PART.tcpTimeout, word(seconds)));
}

/** Reads the timeout of established TCP connections, in seconds. Undefined if the message tells of none. */
export function decodeTcpTimeout(payload: Buffer): number | undefined {
  if (payload.length < GENERIC_HEADER) return undefined;
  const all = { from: GENERIC_HEADER, to: payload.length };
  const at = sized(payload, all, PART.tcpTimeout, 4);
  return at === undefined ? undefined : payload.readUInt32LE(at);
}

/** The payload of a change. */
export function encodeCommand(command: Command): Buffer {
  const { kind } = command;
  const parts: Buffer[] = [];
  if (kind === "new-server" || kind === "set-server") {
    parts.push(nested(PART.service, ...nameOf(command.server), ...termsOf(command.server)));
  } else parts.push(nested(PART.service, ...nameOf(command.server)));
  if ("destination" in command) parts.push(encodeDestination(command.server, command.destination));
  return genericPayload(COMMAND[kind], VERSION, ...parts);
}

function nameOf({ family, protocol, address, port }: ServerName): Buffer[] {
  return [
    attribute(SERVICE.family, short(FAMILY[family])),
    attribute(SERVICE.protocol, short(PROTOCOL[protocol])),
    attribute(SERVICE.address, addressBytes(address)),
    attribute(SERVICE.port, bigShort(port)),
  ];
}

function termsOf({ family, scheduler, flags, timeout }: Server): Buffer[] {
  // `struct ip_vs_flags`: the bits, and which of them count.
  const bits = Buffer.concat([word(flags), word(0xffffffff)]);
  // One client is one address. For IPv6 it is a length, in the byte order of the machine.
  const mask = family === "IPv4" ? word(0xffffffff) : word(128);
  return [
    attribute(SERVICE.scheduler, Buffer.from(`${scheduler}\0`, "latin1")),
    attribute(SERVICE.flags, bits),
    attribute(SERVICE.timeout, word(timeout)),
    attribute(SERVICE.netmask, mask),
  ];
}

function encodeDestination({ family }: ServerName, destination: Destination): Buffer {
  return nested(
    PART.dest,
    attribute(DEST.address, addressBytes(destination.address)),
    attribute(DEST.port, bigShort(destination.port)),
    attribute(DEST.method, word(NAT)),
    attribute(DEST.weight, word(destination.weight)),
    attribute(DEST.upper, word(0)),
    attribute(DEST.lower, word(0)),
    attribute(DEST.family, short(FAMILY[family])),
  );
}

/** Reads a virtual server. Undefined if it is one by firewall mark, or of a form that is not known. */
export function decodeServer(payload: Buffer): Server | undefined {
  const within = partOf(payload, PART.service);
  const at = (type: number, length: number) => sized(payload, within, type, length);
  const [family, protocol] = [at(SERVICE.family, 2), at(SERVICE.protocol, 2)];
  const [address, port] = [at(SERVICE.address, ADDRESS), at(SERVICE.port, 2)];
  const [flags, timeout] = [at(SERVICE.flags, 8), at(SERVICE.timeout, 4)];
  const scheduler = locate(payload, within, SERVICE.scheduler);
  if (family === undefined || protocol === undefined || address === undefined) return undefined;
  if (port === undefined || flags === undefined || timeout === undefined) return undefined;
  if (scheduler === undefined) return undefined;
  const familyName = FAMILIES.find((one) => FAMILY[one] === payload.readUInt16LE(family));
  const protocolName = PROTOCOLS.find((one) => PROTOCOL[one] === payload.readUInt16LE(protocol));
  if (familyName === undefined || protocolName === undefined) return undefined;
  return {
    family: familyName,
    protocol: protocolName,
    address: addressText(payload, address, familyName),
    port: payload.readUInt16BE(port),
    scheduler: textAt(payload, scheduler),
    flags: (payload.readUInt32LE(flags) & ~HASHED) >>> 0,
    timeout: payload.readUInt32LE(timeout),
  };
}

/** Reads a destination of a server of this family. Undefined if it is of another, or of a form that is not known. */
export function decodeDestination(
  payload: Buffer,
  family: Family,
): StandingDestination | undefined {
  const within = partOf(payload, PART.dest);
  const number = (type: number) => {
    const at = sized(payload, within, type, 4);
    return at === undefined ? undefined : payload.readUInt32LE(at);
  };
  const address = sized(payload, within, DEST.address, ADDRESS);
  const port = sized(payload, within, DEST.port, 2);
  const own = sized(payload, within, DEST.family, 2);
  const [weight, method] = [number(DEST.weight), number(DEST.method)];
  const [active, inactive] = [number(DEST.active), number(DEST.inactive)];
  if (address === undefined || port === undefined || weight === undefined) return undefined;
  if (method === undefined || active === undefined || inactive === undefined) return undefined;
  if (own !== undefined && payload.readUInt16LE(own) !== FAMILY[family]) return undefined;
  const limited = (number(DEST.upper) ?? 0) !== 0 || (number(DEST.lower) ?? 0) !== 0;
  return {
    address: addressText(payload, address, family),
    port: payload.readUInt16BE(port),
    weight: weight | 0,
    plain: (method === NAT || method === LOCAL) && !limited,
    active,
    inactive,
    total: connectionsOf(payload, within),
  };
}

/** Kernels since 4.0 count in 64 bits. */
function connectionsOf(payload: Buffer, within: Span | undefined): bigint {
  const wide = sized(payload, locate(payload, within, DEST.stats64), CONNECTIONS, 8);
  if (wide !== undefined) return payload.readBigUInt64LE(wide);
  const narrow = sized(payload, locate(payload, within, DEST.stats), CONNECTIONS, 4);
  return narrow === undefined ? 0n : BigInt(payload.readUInt32LE(narrow));
}

function partOf(payload: Buffer, type: number): Span | undefined {
  if (payload.length < GENERIC_HEADER) return undefined;
  return locate(payload, { from: GENERIC_HEADER, to: payload.length }, type);
}

/** Where a value of at least so many bytes begins. */
function sized(
  payload: Buffer,
  within: Span | undefined,
  type: number,
  length: number,
): number | undefined {
  const at = locate(payload, within, type);
  return at === undefined || at.to - at.from < length ? undefined : at.from;
}

function addressBytes(hex: string): Buffer {
  const bytes = Buffer.alloc(ADDRESS);
  bytes.write(hex, "hex");
  return bytes;
}

function addressText(payload: Buffer, from: number, family: Family): string {
  return payload.toString("hex", from, from + (family === "IPv4" ? 4 : ADDRESS));
}

function textAt(payload: Buffer, { from, to }: Span): string {
  const text = payload.toString("latin1", from, to);
  const end = text.indexOf("\0");
  return end < 0 ? text : text.slice(0, end);
}

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function bigShort(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}
