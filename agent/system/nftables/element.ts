import type { AttributeWriter } from "../netlink/attribute-writer.ts";
import type { Span } from "../netlink/attributes.ts";
import type { FieldKind } from "./fields.ts";

/** A set, or with a value a map, whose elements are written and read. */
export interface SetLayout {
  readonly name: string;
  readonly key: readonly FieldKind[];
  readonly value?: readonly FieldKind[];
}

/** One element; its texts as `fields.ts` describes them. */
export interface Element {
  readonly key: string;
  /** Empty in a set. In a map of verdicts, whose layout has no value, such as `goto pick-1`. */
  readonly value: string;
  /** Empty if there is none; at most 127 bytes. */
  readonly comment: string;
  /** Milliseconds for which it lives; absent if it has no timeout, or that of its set. */
  readonly timeout?: number;
  /** Milliseconds until it expires, as the kernel has it. */
  readonly expires?: number;
  /** Packets that its counter has counted, as the kernel has them. */
  readonly packets?: number;
}

/** Elements to add to one set, or keys to delete. */
export type ElementChange =
  | { readonly kind: "add"; readonly set: SetLayout; readonly elements: readonly Element[] }
  | { readonly kind: "delete"; readonly set: SetLayout; readonly keys: readonly string[] };

/**
 * NFTNL_UDATA_RULE_COMMENT and NFTNL_UDATA_SET_ELEM_COMMENT (libnftnl): user data is a list of items, each with a type, a length, and here a text with its
 * zero byte.
 */
const COMMENT = 0;

/** Writes user data with a comment. */
export function writeComment(to: AttributeWriter, comment: string): void {
  to.bytes(COMMENT, comment.length + 1);
  to.text(comment);
}

/** The comment in the user data of a rule or element; empty if there is none. */
export function commentOf(bytes: Buffer, within: Span | undefined): string {
  for (let at = within?.from ?? 0; within !== undefined && at + 2 <= within.to; ) {
    const [type, length = 0] = [bytes[at], bytes[at + 1]];
    const end = Math.min(at + 2 + length, within.to);
    if (type === COMMENT) return bytes.toString("latin1", at + 2, end).split("\0", 1)[0] ?? "";
    at = end;
  }
  return "";
}
