import type { AttributeWriter } from "../netlink/attribute-writer.ts";
import type { Span } from "../netlink/attributes.ts";

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
