import { hash } from "node:crypto";
import type { Element } from "../../system/nftables/element.ts";

/** Characters of a digest: 96 bits. */
const LENGTH = 16;
/** At the end of a comment. */
const AT_END = new RegExp(` #([\\w-]{${LENGTH}})$`);
/** Bytes of a comment: nft shows no more. */
const LONGEST_COMMENT = 127;

/** The digest of a service's elements in `endpoints` and `choices`, in any order. */
export function digestOf(endpoints: readonly Element[], choices: readonly Element[]): string {
  const lines = [endpoints, choices].map((some) =>
    some
      .map(({ key, value, comment }) => `${key} ${value} ${comment}`)
      .sort()
      .join("\n"),
  );
  return hash("sha256", lines.join("\n\n"), "base64url").slice(0, LENGTH);
}

/** A comment that ends with the digest, so that a new process need not read the endpoints first. */
export function withDigest(comment: string, digest: string): string {
  return `${cut(comment, LONGEST_COMMENT - LENGTH - 2)} #${digest}`;
}

/** The digest at the end of a comment; undefined if there is none. */
export function digestIn(comment: string): string | undefined {
  return AT_END.exec(comment)?.[1];
}

/** The beginning of a comment that would be too long. */
export function cut(comment: string, length = LONGEST_COMMENT): string {
  return comment.slice(0, length);
}
