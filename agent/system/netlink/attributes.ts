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

/** A part of a message: from the first of its bytes to before the one after its last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Where the value of the attribute `type` is, among the attributes that are `within`. Undefined if there is none,
 * or if not all of it is attributes: a length that is too short or too long, or bytes left over. Of two with the
 * same type the last counts, as in the kernel. It makes nothing but the answer: tables have a million entries.
 */
export function locate(bytes: Buffer, within: Span | undefined, type: number): Span | undefined {
  if (within === undefined) return undefined;
  let found: Span | undefined;
  let at = within.from;
  while (at < within.to) {
    if (within.to - at < HEADER) return undefined;
    const to = at + bytes.readUInt16LE(at);
    if (to < at + HEADER || to > within.to) return undefined;
    if ((bytes.readUInt16LE(at + 2) & TYPE) === type) found = { from: at + HEADER, to };
    at += aligned(to - at);
  }
  return found;
}

/** One attribute, padded. */
export function attribute(type: number, value: Uint8Array): Buffer {
  const length = HEADER + value.length;
  // From Buffer's pool, as all small ones here: thousands of allocations of their own cost memory for long.
  const bytes = Buffer.allocUnsafe(aligned(length));
  bytes.writeUInt16LE(length, 0);
  bytes.writeUInt16LE(type, 2);
  bytes.set(value, HEADER);
  return bytes.fill(0, length);
}

/** An attribute that holds others. */
export function nested(type: number, ...values: readonly Buffer[]): Buffer {
  return attribute(type | NESTED, Buffer.concat(values));
}

/** Up to the next multiple of four: how netlink pads. */
export function aligned(length: number): number {
  return (length + 3) & ~3;
}
