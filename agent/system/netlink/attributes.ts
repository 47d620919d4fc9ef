/**
 * Netlink attributes (linux/netlink.h, `struct nlattr`): a length that includes the header of four bytes, a type, and a
 * value, padded to four bytes. Lengths and types are in the byte order of the machine, which is little-endian wherever the
 * native part of the package netlink runs.
 */

/** Bytes before the value. */
export const HEADER = 4;
/** NLA_F_NESTED: the value consists of attributes. */
export const NESTED = 0x8000;
/** NLA_TYPE_MASK: the type without NLA_F_NESTED and NLA_F_NET_BYTEORDER. */
const TYPE = 0x3fff;

/** A part of a message; `to` is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Where the value of the attribute `type` is, among the attributes `within`. Undefined if there is none, or if any of them is
 * malformed. Of two with the same type the last counts, as in the kernel. Nothing else is allocated, because tables have up
 * to a million entries.
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

/** Where the values of all attributes `within` are, up to one that is malformed. */
export function children(bytes: Buffer, within: Span | undefined): Span[] {
  const found: Span[] = [];
  let at = within?.from ?? 0;
  while (within !== undefined && within.to - at >= HEADER) {
    const to = at + bytes.readUInt16LE(at);
    if (to < at + HEADER || to > within.to) break;
    found.push({ from: at + HEADER, to });
    at += aligned(to - at);
  }
  return found;
}

/** One attribute, padded. */
export function attribute(type: number, value: Uint8Array): Buffer {
  const length = HEADER + value.length;
  // From Buffer's pool: thousands of separate allocations would keep memory for long.
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

/** Rounds up to a multiple of four, as netlink pads. */
export function aligned(length: number): number {
  return (length + 3) & ~3;
}
