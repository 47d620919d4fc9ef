import type { Family } from "../../../api/address.ts";
import { AttributeWriter } from "../netlink/attribute-writer.ts";
import { children, locate, type Span } from "../netlink/attributes.ts";
import { ADDRESS_FAMILY, readText, readUint32BE, readUint64BE } from "../netlink/values.ts";
import type { Element, ElementChange, SetLayout } from "./element.ts";
import { commentOf, writeComment } from "./element.ts";
import { decodeFields, type FieldKind, writeFields } from "./fields.ts";

/** The messages of nf_tables (linux/netfilter/nf_tables.h) that we use: elements of sets are added, deleted and listed. */

/** NFNL_SUBSYS_NFTABLES << 8. */
const SUBSYSTEM = 0xa00;
/** NFT_MSG_… */
export const MESSAGE = {
  add: SUBSYSTEM | 12,
  list: SUBSYSTEM | 13,
  delete: SUBSYSTEM | 14,
} as const;
/** `struct nfgenmsg`: family, version 0, and a resource ID. */
const HEADER = 4;
/** NFTA_SET_ELEM_LIST_… */
const LIST = { table: 1, set: 2, elements: 3 } as const;
/** NFTA_LIST_ELEM. */
const ITEM = 1;
/** NFTA_SET_ELEM_… */
const ELEMENT = {
  ...{ key: 1, data: 2, flags: 3, timeout: 4, expiration: 5, userdata: 6, expression: 7 },
} as const;
/** NFTA_EXPR_DATA. */
const EXPRESSION_DATA = 2;
/** NFTA_COUNTER_PACKETS. */
const PACKETS = 2;
/** NFTA_DATA_… */
const VALUE = 1;
const VERDICT = 2;
/** NFTA_VERDICT_… */
const VERDICT_PART = { code: 1, chain: 2 } as const;
/** NFT_JUMP and NFT_GOTO, as they are in a message. */
const VERBS: Readonly<Record<number, string>> = { 4294967293: "jump", 4294967292: "goto" };
/** NFT_SET_ELEM_INTERVAL_END | NFT_SET_ELEM_CATCHALL. */
const NO_ELEMENT = 0x3;

/** Bytes of a message to which no element is added: the length of an attribute has 16 bits. */
const MOST_BYTES = 60_000;

/** One message of a transaction. */
export interface Message {
  readonly type: number;
  readonly payload: Buffer;
}

/** The messages that make a change; `to` is used for each. */
export function encodeChange(
  family: Family,
  table: string,
  change: ElementChange,
  to = new AttributeWriter(),
): Message[] {
  const messages: Message[] = [];
  const elements = change.kind === "add" ? change.elements : change.keys.map(bare);
  for (let next = 0; next < elements.length; ) {
    beginList(to, family, table, change.set.name);
    const list = to.beginNested(LIST.elements);
    for (; next < elements.length && to.length < MOST_BYTES; next++)
      writeElement(to, change.set, elements[next] ?? bare(""), change.kind === "add");
    to.end(list);
    messages.push({ type: MESSAGE[change.kind], payload: to.take() });
  }
  return messages;
}

function bare(key: string): Element {
  return { key, value: "", comment: "" };
}

/** The payload of a request for all elements of a set. */
export function encodeListRequest(family: Family, table: string, set: string): Buffer {
  const to = new AttributeWriter();
  beginList(to, family, table, set);
  return to.take();
}

/** Reads the elements in one message of a listing; elements that do not have the fields of the set are `undefined`. */
export function decodeElements(
  payload: Buffer,
  family: Family,
  set: SetLayout,
): (Element | undefined)[] {
  const all = { from: HEADER, to: payload.length };
  const items = children(payload, locate(payload, all, LIST.elements));
  return items.flatMap((item) => {
    const flags = readUint32BE(payload, item, ELEMENT.flags) ?? 0;
    return (flags & NO_ELEMENT) === 0 ? [decodeElement(payload, item, family, set)] : [];
  });
}

function beginList(to: AttributeWriter, family: Family, table: string, set: string): void {
  to.bytes(ADDRESS_FAMILY[family], 0, 0, 0);
  writeText(to, LIST.table, table);
  writeText(to, LIST.set, set);
}

function writeText(to: AttributeWriter, type: number, value: string): void {
  const at = to.begin(type);
  to.text(value);
  to.end(at);
}

function writeElement(
  to: AttributeWriter,
  { key: keyKinds, value: valueKinds }: SetLayout,
  { key, value, comment, timeout }: Element,
  isWhole: boolean,
): void {
  const item = to.beginNested(ITEM);
  writePart(to, ELEMENT.key, keyKinds, key);
  if (isWhole && valueKinds !== undefined) writePart(to, ELEMENT.data, valueKinds, value);
  if (timeout !== undefined) {
    const at = to.begin(ELEMENT.timeout);
    to.hex(BigInt(timeout).toString(16).padStart(16, "0"));
    to.end(at);
  }
  if (comment !== "") {
    const at = to.begin(ELEMENT.userdata);
    writeComment(to, comment);
    to.end(at);
  }
  to.end(item);
}

function writePart(
  to: AttributeWriter,
  type: number,
  kinds: readonly FieldKind[],
  text: string,
): void {
  const part = to.beginNested(type);
  const at = to.begin(VALUE);
  writeFields(to, kinds, text);
  to.end(at);
  to.end(part);
}

function decodeElement(
  bytes: Buffer,
  item: Span,
  family: Family,
  { key: keyKinds, value: valueKinds }: SetLayout,
): Element | undefined {
  const part = (type: number, kinds: readonly FieldKind[]) => {
    const at = locate(bytes, locate(bytes, item, type), VALUE);
    return at && decodeFields(kinds, bytes.subarray(at.from, at.to), family);
  };
  const key = part(ELEMENT.key, keyKinds);
  const value = valueKinds === undefined ? verdictIn(bytes, item) : part(ELEMENT.data, valueKinds);
  if (key === undefined || value === undefined) return undefined;
  const counter = locate(bytes, locate(bytes, item, ELEMENT.expression), EXPRESSION_DATA);
  const timeout = readUint64BE(bytes, item, ELEMENT.timeout);
  const expires = readUint64BE(bytes, item, ELEMENT.expiration);
  const packets = readUint64BE(bytes, counter, PACKETS);
  return {
    ...{ key, value, comment: commentOf(bytes, locate(bytes, item, ELEMENT.userdata)) },
    ...(timeout !== undefined && { timeout: Number(timeout) }),
    ...(expires !== undefined && { expires: Number(expires) }),
    ...(packets !== undefined && { packets: Number(packets) }),
  };
}

/** The verdict that an element leads to; empty if there is none. */
function verdictIn(bytes: Buffer, item: Span): string {
  const verdict = locate(bytes, locate(bytes, item, ELEMENT.data), VERDICT);
  const code = readUint32BE(bytes, verdict, VERDICT_PART.code);
  if (code === undefined) return "";
  return `${VERBS[code] ?? code} ${readText(bytes, verdict, VERDICT_PART.chain) ?? ""}`;
}
