import type { Family } from "../../../api/address.ts";
import { isProtocol } from "../../../api/protocol.ts";
import { IP_PROTOCOL, protocolOf, uint16BE, uint32 } from "../netlink/values.ts";

/**
 * The fields of keys and values of nftables' sets. In memory, a key is one text, its fields separated by spaces:
 * `f1000001 TCP 80`. In a message, each field begins at a multiple of four bytes.
 */

/**
 * - address: of the family of the table, as `Address.hex`.
 * - protocol: `TCP`.
 * - port: in network byte order.
 * - number: 32 bits in the byte order of the machine, as `meta priority`, `numgen` and `jhash` have them.
 */
export type FieldKind = "address" | "protocol" | "port" | "number";

/** The bytes of a key or value. Throws a TypeError if the text does not have these fields. */
export function encodeFields(kinds: readonly FieldKind[], text: string): Buffer {
  const fields = text.split(" ");
  if (fields.length !== kinds.length) throw new TypeError(`not ${kinds.join(" ")}: ${text}`);
  return Buffer.concat(kinds.map((kind, i) => padded(encodeField(kind, fields[i] ?? ""))));
}

/** Reads a key or value; undefined if it does not have these fields. */
export function decodeFields(
  kinds: readonly FieldKind[],
  bytes: Buffer,
  family: Family,
): string | undefined {
  const sizes = kinds.map((kind) => (kind === "address" && family === "IPv6" ? 16 : 4));
  if (bytes.length !== sizes.reduce((sum, size) => sum + size, 0)) return undefined;
  let at = 0;
  const fields: string[] = [];
  for (const [i, kind] of kinds.entries()) {
    const field = decodeField(kind, bytes.subarray(at, at + (sizes[i] ?? 0)));
    if (field === undefined) return undefined;
    fields.push(field);
    at += sizes[i] ?? 0;
  }
  return fields.join(" ");
}

function encodeField(kind: FieldKind, text: string): Buffer {
  if (kind === "address") return Buffer.from(text, "hex");
  if (kind === "port") return uint16BE(Number(text));
  if (kind === "number") return uint32(Number(text));
  if (!isProtocol(text)) throw new TypeError(`no protocol: ${text}`);
  return Buffer.of(IP_PROTOCOL[text]);
}

function decodeField(kind: FieldKind, bytes: Buffer): string | undefined {
  if (kind === "address") return bytes.toString("hex");
  if (kind === "port") return `${bytes.readUInt16BE()}`;
  if (kind === "number") return `${bytes.readUInt32LE()}`;
  return protocolOf(bytes[0]);
}

function padded(bytes: Buffer): Buffer {
  return bytes.length % 4 === 0
    ? bytes
    : Buffer.concat([bytes, Buffer.alloc(4 - (bytes.length % 4))]);
}
