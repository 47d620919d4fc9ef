import type { Family } from "../../../api/address.ts";
import { isProtocol } from "../../../api/protocol.ts";
import type { AttributeWriter } from "../netlink/attribute-writer.ts";
import { IP_PROTOCOL, protocolOf } from "../netlink/values.ts";

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

/** Writes a key or value. Throws a TypeError if the text does not have these fields. */
export function writeFields(to: AttributeWriter, kinds: readonly FieldKind[], text: string): void {
  const fields = text.split(" ");
  if (fields.length !== kinds.length) throw new TypeError(`not ${kinds.join(" ")}: ${text}`);
  for (const [i, kind] of kinds.entries()) {
    writeField(to, kind, fields[i] ?? "");
    to.pad();
  }
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

function writeField(to: AttributeWriter, kind: FieldKind, text: string): void {
  if (kind === "address") to.hex(text);
  else if (kind === "port") to.uint16BE(Number(text));
  else if (kind === "number") to.uint32(Number(text));
  else if (isProtocol(text)) to.bytes(IP_PROTOCOL[text]);
  else throw new TypeError(`no protocol: ${text}`);
}

function decodeField(kind: FieldKind, bytes: Buffer): string | undefined {
  if (kind === "address") return bytes.toString("hex");
  if (kind === "port") return `${bytes.readUInt16BE()}`;
  if (kind === "number") return `${bytes.readUInt32LE()}`;
  return protocolOf(bytes[0]);
}
