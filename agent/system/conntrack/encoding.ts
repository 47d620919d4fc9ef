import type { Family } from "../../../api/address.ts";
import type { Protocol } from "../../../api/protocol.ts";
import { attribute, locate, nested, type Span } from "../netlink/attributes.ts";
import {
  ADDRESS_FAMILY,
  familyOf,
  IP_PROTOCOL,
  protocolOf,
  readAddress,
  readUint8,
  readUint16BE,
  readUint32BE,
  uint16BE,
  uint32,
  uint32BE,
} from "../netlink/values.ts";
import { type Entry, TCP_STATES, type Tuple } from "./entry.ts";
import type { EntryFilter } from "./table.ts";

/** The messages of ctnetlink (linux/netfilter/nfnetlink_conntrack.h) that we use. Numbers are in network byte order. */

/** NFNL_SUBSYS_CTNETLINK << 8, and the message's number. */
export const NEW = 0x100;
export const GET = 0x101;
export const DELETE = 0x102;

/** `struct nfgenmsg`: family, version 0, resource id 0. */
const HEADER = 4;
/** `enum ctattr_type`. */
const CTA = {
  original: 1,
  reply: 2,
  status: 3,
  protoinfo: 4,
  timeout: 7,
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
/** `enum ctattr_filter`, and the bits that select parts of the tuple (linux/netfilter, 5.8). */
const FILTER = { originalFlags: 1, replyFlags: 2, destination: 1 << 1, protocol: 1 << 3 } as const;
/** IPS_SEEN_REPLY and IPS_ASSURED. */
const SEEN_REPLY = 1 << 1;
const ASSURED = 1 << 2;

/** Reads the payload of a NEW message. Undefined if it is malformed, or of another protocol or family. */
export function decodeEntry(payload: Buffer): Entry | undefined {
  if (payload.length < HEADER) return undefined;
  const family = familyOf(payload[0]);
  if (family === undefined) return undefined;
  const all = { from: HEADER, to: payload.length };
  const inTuple = locate(payload, all, CTA.original);
  const protocol = decodeProtocol(payload, inTuple);
  const original = decodeTuple(payload, inTuple, family, protocol);
  const reply = decodeTuple(payload, locate(payload, all, CTA.reply), family, protocol);
  const status = readUint32BE(payload, all, CTA.status);
  if (protocol === undefined || original === undefined || reply === undefined) return undefined;
  if (status === undefined) return undefined;
  const id = readUint32BE(payload, all, CTA.id);
  const zone = readUint16BE(payload, all, CTA.zone);
  const secondsLeft = readUint32BE(payload, all, CTA.timeout);
  const info = locate(payload, locate(payload, all, CTA.protoinfo), TCP.info);
  const tcp = TCP_STATES[readUint8(payload, info, TCP.state) ?? -1];
  return {
    ...{ family, protocol, original, reply },
    replied: (status & SEEN_REPLY) !== 0,
    ...((status & ASSURED) !== 0 && { assured: true }),
    ...(secondsLeft !== undefined && { secondsLeft }),
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
 * The payload of a request for entries of a family, with the kernel's own filter (5.8). Without the address for IPv6: there
 * the kernel returns every other entry (`ctnetlink_filter_match_tuple` inverts the comparison, 5.8 to at least 6.18). A
 * kernel without the status mask (before 5.15) returns answered entries, too.
 */
export function encodeFilter({ family, protocol, destination, unanswered }: EntryFilter): Buffer {
  const header = headerOf(family);
  const address = family === "IPv4" ? destination : undefined;
  if (protocol === undefined && address === undefined && unanswered === undefined) return header;
  const flags =
    (protocol === undefined ? 0 : FILTER.protocol) |
    (address === undefined ? 0 : FILTER.destination);
  const tuple = [
    ...(address === undefined
      ? []
      : [nested(TUPLE.addresses, addressOf(ADDRESSES.IPv4[1], address))]),
    ...(protocol === undefined ? [] : [nested(TUPLE.protocol, protocolNumber(protocol))]),
  ];
  return Buffer.concat([
    header,
    nested(CTA.original, ...tuple),
    // The flags alone are in the byte order of the machine.
    nested(
      CTA.filter,
      attribute(FILTER.originalFlags, uint32(flags)),
      attribute(FILTER.replyFlags, uint32(0)),
    ),
    ...(unanswered === undefined
      ? []
      : [attribute(CTA.status, uint32BE(0)), attribute(CTA.statusMask, uint32BE(SEEN_REPLY))]),
  ]);
}

/** The payload of a request that names one entry. With the id, it does not hit a newer entry of the same tuple. */
export function encodeName({ family, protocol, original, zone, id }: Entry): Buffer {
  return Buffer.concat([
    headerOf(family),
    encodeTuple(CTA.original, family, protocol, original),
    ...(zone === undefined ? [] : [attribute(CTA.zone, uint16BE(zone))]),
    ...(id === undefined ? [] : [attribute(CTA.id, uint32BE(id))]),
  ]);
}

/** Undefined, too, if the tuple is of another protocol. */
function decodeTuple(
  bytes: Buffer,
  within: Span | undefined,
  family: Family,
  protocol: Protocol | undefined,
): Tuple | undefined {
  if (protocol === undefined || decodeProtocol(bytes, within) !== protocol) return undefined;
  const addresses = locate(bytes, within, TUPLE.addresses);
  const l4 = locate(bytes, within, TUPLE.protocol);
  const [from, to] = ADDRESSES[family];
  const source = readAddress[family](bytes, addresses, from);
  const destination = readAddress[family](bytes, addresses, to);
  const sourcePort = readUint16BE(bytes, l4, L4.sourcePort);
  const destinationPort = readUint16BE(bytes, l4, L4.destinationPort);
  if (source === undefined || destination === undefined) return undefined;
  if (sourcePort === undefined || destinationPort === undefined) return undefined;
  const zone = readUint16BE(bytes, within, TUPLE.zone);
  const tuple = { source, destination, sourcePort, destinationPort };
  return zone === undefined ? tuple : { ...tuple, zone };
}

function decodeProtocol(bytes: Buffer, tuple: Span | undefined): Protocol | undefined {
  return protocolOf(readUint8(bytes, locate(bytes, tuple, TUPLE.protocol), L4.number));
}

/** A tuple as an attribute of this type. */
export function encodeTuple(
  type: number,
  family: Family,
  protocol: Protocol,
  tuple: Tuple,
): Buffer {
  const [from, to] = ADDRESSES[family];
  return nested(
    type,
    nested(TUPLE.addresses, addressOf(from, tuple.source), addressOf(to, tuple.destination)),
    nested(
      TUPLE.protocol,
      protocolNumber(protocol),
      attribute(L4.sourcePort, uint16BE(tuple.sourcePort)),
      attribute(L4.destinationPort, uint16BE(tuple.destinationPort)),
    ),
    ...(tuple.zone === undefined ? [] : [attribute(TUPLE.zone, uint16BE(tuple.zone))]),
  );
}

function headerOf(family: Family): Buffer {
  return Buffer.of(ADDRESS_FAMILY[family], 0, 0, 0);
}

function addressOf(type: number, hex: string): Buffer {
  return attribute(type, Buffer.from(hex, "hex"));
}

function protocolNumber(protocol: Protocol): Buffer {
  return attribute(L4.number, Buffer.of(IP_PROTOCOL[protocol]));
}
