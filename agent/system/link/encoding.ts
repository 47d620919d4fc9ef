import type { Family } from "../../../api/address.ts";
import { attribute, nested } from "../netlink/attributes.ts";
import { ADDRESS_FAMILY, familyOf, readAddress, text, uint32 } from "../netlink/values.ts";

/**
 * The messages of rtnetlink (linux/rtnetlink.h, if_link.h, if_addr.h) for a dummy device and its addresses. Numbers are in the
 * byte order of the machine, addresses in network byte order.
 */

/** RTM_… */
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
/** IFA_F_NODAD: a dummy's link has no other host. IFA_F_NOPREFIXROUTE: the local route is enough. */
const ADDRESS_FLAGS = { IPv4: 0x200, IPv6: 0x202 } as const satisfies Record<Family, number>;
const FOREVER = 0xffffffff;
/**
 * `struct ifa_cacheinfo`: valid forever and never preferred. Otherwise the kernel could choose the VIP as a source address on
 * links without an IPv6 address (RFC 6724), and replies would go to the nearest node that has it.
 */
const DEPRECATED = Buffer.concat([0, FOREVER, 0, 0].map(uint32));

/** A network device. */
export interface Link {
  readonly index: number;
  readonly up: boolean;
}

/** An address of a device. */
export interface LinkAddress {
  readonly index: number;
  readonly family: Family;
  /** As `Address.hex`. */
  readonly address: string;
}

/** The payload of a request to create a dummy device that is up. */
export function encodeDummy(name: string): Buffer {
  const kind = nested(LINK.info, attribute(LINK.kind, text("dummy")));
  return Buffer.concat([linkHeader(0, UP), attribute(LINK.name, text(name)), kind]);
}

/** The payload of a request to set a device up. */
export function encodeUp(index: number): Buffer {
  return linkHeader(index, UP);
}

/** The payload of a request to get or delete the device of this name. */
export function encodeLinkName(name: string): Buffer {
  return Buffer.concat([linkHeader(0, 0), attribute(LINK.name, text(name))]);
}

/** The payload of a request to add or delete an address, as /32 or /128. */
export function encodeAddress({ index, family, address }: LinkAddress): Buffer {
  const bytes = Buffer.from(address, "hex");
  return Buffer.concat([
    addressHeader(family, bytes.length * 8, index),
    attribute(ADDRESS.local, bytes),
    attribute(ADDRESS.address, bytes),
    attribute(ADDRESS.flags, uint32(ADDRESS_FLAGS[family])),
    ...(family === "IPv6" ? [attribute(ADDRESS.lifetimes, DEPRECATED)] : []),
  ]);
}

/** The payload of a request for all addresses of a family. */
export function encodeAddressesRequest(family: Family): Buffer {
  return addressHeader(family, 0, 0);
}

/** Reads a device; undefined if the payload is malformed. */
export function decodeLink(payload: Buffer): Link | undefined {
  if (payload.length < LINK_HEADER) return undefined;
  return { index: payload.readInt32LE(4), up: (payload.readUInt32LE(8) & UP) !== 0 };
}

/** Reads an address; undefined if the payload is malformed, or of another family. */
export function decodeAddress(payload: Buffer): LinkAddress | undefined {
  if (payload.length < ADDRESS_HEADER) return undefined;
  const family = familyOf(payload[0]);
  if (family === undefined) return undefined;
  const all = { from: ADDRESS_HEADER, to: payload.length };
  const read = readAddress[family];
  // IPv6 has IFA_ADDRESS only; IPv4 has both, and on links with a peer IFA_LOCAL is the node's own.
  const address = read(payload, all, ADDRESS.local) ?? read(payload, all, ADDRESS.address);
  return address === undefined ? undefined : { index: payload.readUInt32LE(4), family, address };
}

/** `struct ifinfomsg`, with the flags to set as its mask. */
function linkHeader(index: number, flags: number): Buffer {
  const header = Buffer.alloc(LINK_HEADER);
  header.writeInt32LE(index, 4);
  header.writeUInt32LE(flags, 8);
  header.writeUInt32LE(flags, 12);
  return header;
}

/** `struct ifaddrmsg`. */
function addressHeader(family: Family, prefix: number, index: number): Buffer {
  return Buffer.concat([Buffer.of(ADDRESS_FAMILY[family], prefix, 0, 0), uint32(index)]);
}
