import type { Reason } from "../../../api/reasons.ts";

/** Reasons for not using the current content of a file. */
export type FileFault = Extract<
  Reason,
  | "syntax-error"
  | "alias-bomb"
  | "empty"
  | "binary"
  | "too-deep"
  | "too-large"
  | "not-a-file"
  | "unreadable"
  | "unwatched"
>;

/** An error in the text of a file, or of the file as a whole. */
export interface Mistake {
  readonly fault: FileFault;
  /** From 1, `column` in UTF-16 units; both absent if the fault has no position. */
  readonly line?: number;
  readonly column?: number;
  /** Details as one printable line. */
  readonly detail: string;
}

/** A mistake, and the name of its file or the path of the directory. */
export interface FileError extends Mistake {
  readonly file: string;
}

/** A value, or the mistake that prevented it. */
export type Outcome<Value> =
  | { readonly value: Value; readonly mistake?: never }
  | { readonly mistake: Mistake };

/** Maximum characters of a detail, because parsers quote the text. */
const SHOWN = 160;

/** A mistake of the whole file. */
export function mistake(fault: FileFault, detail: string): Mistake {
  return { fault, detail: printable(detail.slice(0, SHOWN)) };
}

/** `text` as one line of visible ASCII. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

/** A mistake at an offset, in UTF-16 units. */
export function mistakeAt(text: string, offset: number, fault: FileFault, detail: string): Mistake {
  const before = text.slice(0, offset);
  const lines = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  return { ...mistake(fault, detail), line: lines, column };
}

/** The mistake for a failed system call, such as `EACCES`. */
export function unreadable(thrown: unknown): Mistake {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : thrown;
  return mistake("unreadable", String(code));
}
