/**
 * Netlink attributes (linux/netlink.h, `struct nlattr`): a length that counts its own four bytes, a type, and a
 * value, padded to four bytes. Lengths and types are in the byte order of the machine, which is little-endian
 * wherever Node runs on Linux with our native part; values of netfilter are in network byte order.
 */

const HEADER = 4;
/** NLA_F_NESTED: the value is attributes again. */
const NESTED = 0x8000;
/** NLA_TYPE_MASK: the type without NLA_F_NESTED and NLA_F_NET_BYTEORDER. */
const TYPE = 0x3fff;

/** Values by type. */
export type Attributes = ReadonlyMap<number, Buffer>;

/**
 * Reads `bytes` as attributes. Undefined if they are not: a length that is too short or too long, or bytes left
 * over. Of two with the same type the last counts, as in the kernel. The values are views, not copies.
 */
export function readAttributes(bytes: Buffer): Attributes | undefined {
  const found = new Map<number, Buffer>();
  let at = 0;
  while (at < bytes.length) {
    if (bytes.length - at < HEADER) return undefined;
    const length = bytes.readUInt16LE(at);
    if (length < HEADER || at + length > bytes.length) return undefined;
    found.set(bytes.readUInt16LE(at + 2) & TYPE, bytes.subarray(at + HEADER, at + length));
    at += aligned(length);
  }
  return found;
}

/** One attribute, padded. */
export function attribute(type: number, value: Uint8Array): Buffer {
  const length = HEADER + value.length;
  const bytes = Buffer.alloc(aligned(length));
  bytes.writeUInt16LE(length, 0);
  bytes.writeUInt16LE(type, 2);
  bytes.set(value, HEADER);
  return bytes;
}

/** An attribute that holds others. */
export function nested(type: number, ...values: readonly Buffer[]): Buffer {
  return attribute(type | NESTED, Buffer.concat(values));
}

/** Up to the next multiple of four: how netlink pads. */
export function aligned(length: number): number {
  return (length + 3) & ~3;
}
