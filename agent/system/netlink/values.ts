import { FAMILIES, type Family } from "../../../api/address.ts";
import { PROTOCOLS, type Protocol } from "../../../api/protocol.ts";
import { locate, type Span } from "./attributes.ts";

/**
 * Values of attributes. `uint16` and `uint32` are in the byte order of the machine, which is little-endian, those that end
 * in BE in network byte order. Readers return undefined if the attribute is missing or its value has another size.
 */

/** AF_INET and AF_INET6. */
export const ADDRESS_FAMILY = { IPv4: 2, IPv6: 10 } as const satisfies Record<Family, number>;
/** IPPROTO_TCP, IPPROTO_UDP and IPPROTO_SCTP. */
export const IP_PROTOCOL = { TCP: 6, UDP: 17, SCTP: 132 } as const satisfies Record<
  Protocol,
  number
>;

/** The family of such a number. */
export function familyOf(value: number | undefined): Family | undefined {
  return FAMILIES.find((family) => ADDRESS_FAMILY[family] === value);
}

/** The protocol of such a number. */
export function protocolOf(value: number | undefined): Protocol | undefined {
  return PROTOCOLS.find((protocol) => IP_PROTOCOL[protocol] === value);
}

export function uint16(value: number): Buffer {
  return Buffer.of(value & 0xff, value >> 8);
}

export function uint16BE(value: number): Buffer {
  return Buffer.of(value >> 8, value & 0xff);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

export function uint32BE(value: number): Buffer {
  return uint32(value).reverse();
}

/** With the zero byte that ends a text of the kernel. */
export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`, "latin1");
}

/** Reads the value of the attribute `type` among those that are `within`. */
export type Reader<Value> = (
  bytes: Buffer,
  within: Span | undefined,
  type: number,
) => Value | undefined;

export const readUint8 = sized(1, (bytes, at) => bytes.readUInt8(at));
export const readUint16 = sized(2, (bytes, at) => bytes.readUInt16LE(at));
export const readUint16BE = sized(2, (bytes, at) => bytes.readUInt16BE(at));
export const readUint32 = sized(4, (bytes, at) => bytes.readUInt32LE(at));
export const readUint32BE = sized(4, (bytes, at) => bytes.readUInt32BE(at));
export const readUint64 = sized(8, (bytes, at) => bytes.readBigUInt64LE(at));
export const readUint64BE = sized(8, (bytes, at) => bytes.readBigUInt64BE(at));
/** Addresses as `Address.hex`, where each family has its size. */
export const readAddress = {
  IPv4: sized(4, (bytes, at) => bytes.toString("hex", at, at + 4)),
  IPv6: sized(16, (bytes, at) => bytes.toString("hex", at, at + 16)),
} as const satisfies Record<Family, Reader<string>>;

/** Up to the zero byte. */
export const readText: Reader<string> = (bytes, within, type) => {
  const at = locate(bytes, within, type);
  return at && bytes.toString("latin1", at.from, at.to).split("\0", 1)[0];
};

function sized<Value>(size: number, read: (bytes: Buffer, at: number) => Value): Reader<Value> {
  return (bytes, within, type) => {
    const at = locate(bytes, within, type);
    return at !== undefined && at.to - at.from === size ? read(bytes, at.from) : undefined;
  };
}
