import { FAMILIES, type Family } from "../../../api/address.ts";
import { PROTOCOLS, type Protocol } from "../../../api/protocol.ts";
import { attribute, locate, nested, type Span } from "../netlink/attributes.ts";
import { type Entry, TCP_STATES, type Tuple } from "./entry.ts";
import type { EntryFilter } from "./table.ts";

/**
 * The messages of ctnetlink (linux/netfilter/nfnetlink_conntrack.h), of which this is the part that we use. All
 * numbers are in network byte order.
 */

/** NFNL_SUBSYS_CTNETLINK << 8, and the message's own number. */
export const NEW = 0x100;
export const GET = 0x101;
export const DELETE = 0x102;

/** `struct nfgenmsg`: family, version 0, resource id 0. */
const HEADER = 4;
/** AF_INET and AF_INET6. */
const FAMILY = { IPv4: 2, IPv6: 10 } as const satisfies Record<Family, number>;
const PROTOCOL = { TCP: 6, UDP: 17, SCTP: 132 } as const satisfies Record<Protocol, number>;

/** `enum ctattr_type`. */
const CTA = {
  original: 1,
  reply: 2,
  status: 3,
  protoinfo: 4,
  id: 12,
  zone: 18,
  filter: 25,
  statusMask: 26,
} as const;
/** `enum ctattr_tuple`. */
const TUPLE = { addresses: 1, protocol: 2, zone: 3 } as const;
/** `enum ctattr_ip`: source and destination. */
const ADDRESSES = { IPv4: [1, 2], IPv6: [3, 4] } as const satisfies Record<
  Family,
  readonly number[]
>;
/** `enum ctattr_l4proto`. */
const L4 = { number: 1, sourcePort: 2, destinationPort: 3 } as const;
/** CTA_PROTOINFO_TCP, and in it CTA_PROTOINFO_TCP_STATE. */
const TCP = { info: 1, state: 1 } as const;
/** `enum ctattr_filter`, and the bits that say which parts of the tuple count (linux/netfilter, 5.8). */
const FILTER = { originalFlags: 1, replyFlags: 2, destination: 1 << 1, protocol: 1 << 3 } as const;
/** IPS_SEEN_REPLY. */
const SEEN_REPLY = 1 << 1;

/**
 * Reads one entry: the payload of a NEW message. Undefined if it is none, or of another protocol or family, or
 * of a form that is not known.
 */
export function decodeEntry(payload: Buffer): Entry | undefined {
  if (payload.length < HEADER) return undefined;
  const family = FAMILIES.find((one) => FAMILY[one] === payload[0]);
  if (family === undefined) return undefined;
  const all = { from: HEADER, to: payload.length };
  const inTuple = locate(payload, all, CTA.original);
  const protocol = protocolOf(payload, inTuple);
  const original = decodeTuple(payload, inTuple, family, protocol);
  const reply = decodeTuple(payload, locate(payload, all, CTA.reply), family, protocol);
  const status = word(payload, locate(payload, all, CTA.status));
  if (protocol === undefined || original === undefined || reply === undefined) return undefined;
  if (status === undefined) return undefined;
  const id = word(payload, locate(payload, all, CTA.id));
  const zone = short(payload, locate(payload, all, CTA.zone));
  const info = locate(payload, locate(payload, all, CTA.protoinfo), TCP.info);
  const state = byte(payload, locate(payload, info, TCP.state));
  const tcp = state === undefined ? undefined : TCP_STATES[state];
  return {
    ...{ family, protocol, original, reply },
    replied: (status & SEEN_REPLY) !== 0,
    ...(id !== undefined && { id }),
    ...(zone !== undefined && { zone }),
    ...(tcp !== undefined && { tcp }),
  };
}

/** The payload of a request for every entry of both families. */
export function encodeEverything(): Buffer {
  return Buffer.alloc(HEADER);
}

/**
 * The payload of a request for entries: of the whole family, or with the kernel's own filter (5.8). Not by IPv6
 * addresses: there the kernel gives every entry but those that are asked for (`ctnetlink_filter_match_tuple` takes
 * the result of a comparison for its opposite, 5.8 to at least 6.18). Whoever does not know the mask of the status
 * (before 5.15) gives the answered entries, too.
 */
export function encodeFilter({ family, protocol, destination, unanswered }: EntryFilter): Buffer {
  const header = headerOf(family);
  const address = family === "IPv4" ? destination : undefined;
  if (protocol === undefined && address === undefined && unanswered === undefined) return header;
  const flags =
    (protocol === undefined ? 0 : FILTER.protocol) |
    (address === undefined ? 0 : FILTER.destination);
  const to = ADDRESSES.IPv4[1];
  return Buffer.concat([
    header,
    nested(
      CTA.original,
      ...(address === undefined
        ? []
        : [nested(TUPLE.addresses, attribute(to, Buffer.from(address, "hex")))]),
      ...(protocol === undefined
        ? []
        : [nested(TUPLE.protocol, attribute(L4.number, Buffer.from([PROTOCOL[protocol]])))]),
    ),
    // The flags, alone among our numbers, are in the byte order of the machine.
    nested(
      CTA.filter,
      attribute(FILTER.originalFlags, little(flags)),
      attribute(FILTER.replyFlags, little(0)),
    ),
    ...(unanswered === undefined
      ? []
      : [attribute(CTA.status, big32(0)), attribute(CTA.statusMask, big32(SEEN_REPLY))]),
  ]);
}

/**
 * The payload of a request that names this one entry: its tuple and zone, and its id, so that a newer entry of
 * the same tuple is not hit.
 */
export function encodeName({ family, protocol, original, zone, id }: Entry): Buffer {
  return Buffer.concat([
    headerOf(family),
    encodeTuple(CTA.original, family, protocol, original),
    ...(zone === undefined ? [] : [attribute(CTA.zone, big16(zone))]),
    ...(id === undefined ? [] : [attribute(CTA.id, big32(id))]),
  ]);
}

/** The payload of a NEW message: what `decodeEntry` reads. */
export function encodeEntry(entry: Entry): Buffer {
  const state = entry.tcp === undefined ? [] : [TCP_STATES.indexOf(entry.tcp)];
  return Buffer.concat([
    encodeName(entry),
    encodeTuple(CTA.reply, entry.family, entry.protocol, entry.reply),
    attribute(CTA.status, big32(entry.replied ? SEEN_REPLY : 0)),
    ...state.map((one) =>
      nested(CTA.protoinfo, nested(TCP.info, attribute(TCP.state, Buffer.from([one])))),
    ),
  ]);
}

/** Undefined, too, if it is not of this protocol. */
function decodeTuple(
  bytes: Buffer,
  within: Span | undefined,
  family: Family,
  protocol: Protocol | undefined,
): Tuple | undefined {
  if (protocol === undefined || protocolOf(bytes, within) !== protocol) return undefined;
  const addresses = locate(bytes, within, TUPLE.addresses);
  const l4 = locate(bytes, within, TUPLE.protocol);
  const [from, to] = ADDRESSES[family];
  const source = address(bytes, locate(bytes, addresses, from), family);
  const destination = address(bytes, locate(bytes, addresses, to), family);
  const sourcePort = short(bytes, locate(bytes, l4, L4.sourcePort));
  const destinationPort = short(bytes, locate(bytes, l4, L4.destinationPort));
  if (source === undefined || destination === undefined) return undefined;
  if (sourcePort === undefined || destinationPort === undefined) return undefined;
  const zone = short(bytes, locate(bytes, within, TUPLE.zone));
  const tuple = { source, destination, sourcePort, destinationPort };
  return zone === undefined ? tuple : { ...tuple, zone };
}

function protocolOf(bytes: Buffer, tuple: Span | undefined): Protocol | undefined {
  const number = byte(bytes, locate(bytes, locate(bytes, tuple, TUPLE.protocol), L4.number));
  return PROTOCOLS.find((protocol) => PROTOCOL[protocol] === number);
}

function encodeTuple(type: number, family: Family, protocol: Protocol, tuple: Tuple): Buffer {
  const [from, to] = ADDRESSES[family];
  return nested(
    type,
    nested(
      TUPLE.addresses,
      attribute(from, Buffer.from(tuple.source, "hex")),
      attribute(to, Buffer.from(tuple.destination, "hex")),
    ),
    nested(
      TUPLE.protocol,
      attribute(L4.number, Buffer.from([PROTOCOL[protocol]])),
      attribute(L4.sourcePort, big16(tuple.sourcePort)),
      attribute(L4.destinationPort, big16(tuple.destinationPort)),
    ),
    ...(tuple.zone === undefined ? [] : [attribute(TUPLE.zone, big16(tuple.zone))]),
  );
}

function headerOf(family: Family): Buffer {
  return Buffer.from([FAMILY[family], 0, 0, 0]);
}

function address(bytes: Buffer, at: Span | undefined, family: Family): string | undefined {
  return holds(at, family === "IPv4" ? 4 : 16) ? bytes.toString("hex", at.from, at.to) : undefined;
}

function byte(bytes: Buffer, at: Span | undefined): number | undefined {
  return holds(at, 1) ? bytes.readUInt8(at.from) : undefined;
}

function short(bytes: Buffer, at: Span | undefined): number | undefined {
  return holds(at, 2) ? bytes.readUInt16BE(at.from) : undefined;
}

function word(bytes: Buffer, at: Span | undefined): number | undefined {
  return holds(at, 4) ? bytes.readUInt32BE(at.from) : undefined;
}

/** True if something is there, and of just this length. */
function holds(at: Span | undefined, length: number): at is Span {
  return at !== undefined && at.to - at.from === length;
}

function big16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

function big32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

function little(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}
