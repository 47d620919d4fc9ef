import type { Family } from "../../../api/address.ts";
import { attribute, children, locate, nested, type Span } from "../netlink/attributes.ts";
import { ADDRESS_FAMILY, readUint32BE, text } from "../netlink/values.ts";
import { commentOf, encodeComment } from "./comment.ts";
import type { Element, ElementChange, SetLayout } from "./element.ts";
import { decodeFields, encodeFields, type FieldKind } from "./fields.ts";

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
const ELEMENT = { key: 1, data: 2, flags: 3, userdata: 6 } as const;
/** NFTA_DATA_VALUE. */
const VALUE = 1;
/** NFT_SET_ELEM_INTERVAL_END | NFT_SET_ELEM_CATCHALL. */
const NO_ELEMENT = 0x3;

/** Bytes of elements in a message: the length of an attribute has 16 bits. */
const MOST_BYTES = 60_000;

/** One message of a transaction. */
export interface Message {
  readonly type: number;
  readonly payload: Buffer;
}

/** The messages that make a change. */
export function encodeChange(family: Family, table: string, change: ElementChange): Message[] {
  const { set, kind } = change;
  const items =
    change.kind === "add"
      ? change.elements.map((element) => encodeElement(set, element))
      : change.keys.map((key) => nested(ITEM, encodeKey(set, key)));
  return pieces(items).map((piece) => {
    const elements = nested(LIST.elements, ...piece);
    return { type: MESSAGE[kind], payload: encodeList(family, table, set.name, elements) };
  });
}

/** Cuts elements into pieces of one message each. */
function pieces(items: readonly Buffer[]): Buffer[][] {
  const found: Buffer[][] = [];
  let bytes = MOST_BYTES;
  for (const item of items) {
    bytes += item.length;
    if (bytes > MOST_BYTES) {
      found.push([]);
      bytes = item.length;
    }
    found.at(-1)?.push(item);
  }
  return found;
}

/** The payload of a request for all elements of a set. */
export function encodeListRequest(family: Family, table: string, set: string): Buffer {
  return encodeList(family, table, set);
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

function encodeList(family: Family, table: string, set: string, ...elements: Buffer[]): Buffer {
  const header = Buffer.of(ADDRESS_FAMILY[family], 0, 0, 0);
  const names = [attribute(LIST.table, text(table)), attribute(LIST.set, text(set))];
  return Buffer.concat([header, ...names, ...elements]);
}

function encodeElement(set: SetLayout, { key, value, comment }: Element): Buffer {
  const parts = [encodeKey(set, key)];
  if (set.value !== undefined)
    parts.push(nested(ELEMENT.data, attribute(VALUE, encodeFields(set.value, value))));
  if (comment !== "") {
    parts.push(attribute(ELEMENT.userdata, encodeComment(comment)));
  }
  return nested(ITEM, ...parts);
}

function encodeKey({ key: kinds }: SetLayout, key: string): Buffer {
  return nested(ELEMENT.key, attribute(VALUE, encodeFields(kinds, key)));
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
  const value = valueKinds === undefined ? "" : part(ELEMENT.data, valueKinds);
  if (key === undefined || value === undefined) return undefined;
  return { key, value, comment: commentOf(bytes, locate(bytes, item, ELEMENT.userdata)) };
}
