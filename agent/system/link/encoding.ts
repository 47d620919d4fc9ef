import { FAMILIES, type Family } from "../../../api/address.ts";
import { attribute, locate, nested } from "../netlink/attributes.ts";

/**
 * The messages of rtnetlink (linux/rtnetlink.h, if_link.h, if_addr.h) that make a dummy device and its addresses.
 * Numbers are in the byte order of the machine, addresses as on the wire.
 */

/** RTM_…: types of messages. */
export const ROUTE = {
  newLink: 16,
  deleteLink: 17,
  getLink: 18,
  newAddress: 20,
  deleteAddress: 21,
  getAddress: 22,
} as const;
/** NLM_F_CREATE | NLM_F_EXCL. */
export const CREATE = 0x600;

/** Bytes of `struct ifinfomsg` and `struct ifaddrmsg`. */
const LINK_HEADER = 16;
const ADDRESS_HEADER = 8;
/** IFLA_IFNAME, IFLA_LINKINFO, and in it IFLA_INFO_KIND. */
const LINK = { name: 3, info: 18, kind: 1 } as const;
/** IFA_ADDRESS, IFA_LOCAL, IFA_CACHEINFO, IFA_FLAGS. */
const ADDRESS = { address: 1, local: 2, lifetimes: 6, flags: 8 } as const;
/** IFF_UP. */
const UP = 0x1;
/** IFA_F_NODAD: nobody else on a dummy's link may have it. IFA_F_NOPREFIXROUTE: its local route is all. */
const ADDRESS_FLAGS = { IPv4: 0x200, IPv6: 0x202 } as const satisfies Record<Family, number>;
/** Seconds that an address lasts: for ever. */
const EVER = 0xffffffff;
/**
 * `struct ifa_cacheinfo`: valid for ever, and preferred no more. Where a link has no IPv6 address of its own, the kernel calls
 * from any of the node's (RFC 6724), and every node has this one: the answer would go to whichever is nearest.
 */
const DEPRECATED = Buffer.concat([0, EVER, 0, 0].map(word));
/** AF_INET and AF_INET6. */
const FAMILY = { IPv4: 2, IPv6: 10 } as const satisfies Record<Family, number>;

/** A network device. */
export interface Link {
  readonly index: number;
  readonly name: string;
  readonly up: boolean;
  /** `dummy`, `veth`, …; absent for hardware. */
  readonly kind?: string;
}

/** An address of a device. */
export interface LinkAddress {
  readonly index: number;
  readonly family: Family;
  /** As `Address.hex`. */
  readonly address: string;
}

/** The payload of a request to make a dummy device that is up. */
export function encodeDummy(name: string): Buffer {
  return Buffer.concat([linkHeader(0, UP), linkName(name), nested(LINK.info, kind("dummy"))]);
}

/** The payload of a request to turn a device up. */
export function encodeUp(index: number): Buffer {
  return linkHeader(index, UP);
}

/** The payload of a request for, or to delete, the device of this name. */
export function encodeLinkName(name: string): Buffer {
  return Buffer.concat([linkHeader(0, 0), linkName(name)]);
}

/** The payload of a request to add or delete an address, alone in its range. */
export function encodeAddress({ index, family, address }: LinkAddress): Buffer {
  const header = Buffer.alloc(ADDRESS_HEADER);
  header.writeUInt8(FAMILY[family], 0);
  header.writeUInt8(family === "IPv4" ? 32 : 128, 1);
  header.writeUInt32LE(index, 4);
  const bytes = Buffer.from(address, "hex");
  return Buffer.concat([
    header,
    attribute(ADDRESS.local, bytes),
    attribute(ADDRESS.address, bytes),
    attribute(ADDRESS.flags, word(ADDRESS_FLAGS[family])),
    ...(family === "IPv6" ? [attribute(ADDRESS.lifetimes, DEPRECATED)] : []),
  ]);
}

/** The payload of a request for all addresses of a family. */
export function encodeAddressesRequest(family: Family): Buffer {
  const header = Buffer.alloc(ADDRESS_HEADER);
  header.writeUInt8(FAMILY[family], 0);
  return header;
}

/** Reads a device. Undefined if the payload is none. */
export function decodeLink(payload: Buffer): Link | undefined {
  if (payload.length < LINK_HEADER) return undefined;
  const all = { from: LINK_HEADER, to: payload.length };
  const name = textOf(payload, locate(payload, all, LINK.name));
  if (name === undefined) return undefined;
  const kind = textOf(payload, locate(payload, locate(payload, all, LINK.info), LINK.kind));
  return {
    index: payload.readInt32LE(4),
    name,
    up: (payload.readUInt32LE(8) & UP) !== 0,
    ...(kind !== undefined && { kind }),
  };
}

/** Reads an address. Undefined if it is of another family than these. */
export function decodeAddress(payload: Buffer): LinkAddress | undefined {
  if (payload.length < ADDRESS_HEADER) return undefined;
  const family = FAMILIES.find((one) => FAMILY[one] === payload[0]);
  const all = { from: ADDRESS_HEADER, to: payload.length };
  // IPv6 says IFA_ADDRESS only; where IPv4 says both, they differ on links that have a peer.
  const at = locate(payload, all, ADDRESS.local) ?? locate(payload, all, ADDRESS.address);
  if (family === undefined || at === undefined) return undefined;
  if (at.to - at.from !== (family === "IPv4" ? 4 : 16)) return undefined;
  return {
    index: payload.readUInt32LE(4),
    family,
    address: payload.toString("hex", at.from, at.to),
  };
}

function linkHeader(index: number, flags: number): Buffer {
  const header = Buffer.alloc(LINK_HEADER);
  header.writeInt32LE(index, 4);
  header.writeUInt32LE(flags, 8);
  // Which flags are meant.
  header.writeUInt32LE(flags, 12);
  return header;
}

function linkName(name: string): Buffer {
  return attribute(LINK.name, Buffer.from(`${name}\0`, "latin1"));
}

function kind(name: string): Buffer {
  return attribute(LINK.kind, Buffer.from(`${name}\0`, "latin1"));
}

function textOf(payload: Buffer, at: { from: number; to: number } | undefined): string | undefined {
  if (at === undefined) return undefined;
  return payload.toString("latin1", at.from, at.to).split("\0", 1)[0];
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
