import type { Reason } from "../../../api/reasons.ts";

/** Why a file keeps its last good content: the words of `REASONS` that are about files. */
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

/** What is wrong with the text of a file, or with the file as a whole. */
export interface Mistake {
  readonly fault: FileFault;
  /** Counted from 1, `column` in UTF-16 units; both absent if the fault has no place in the text. */
  readonly line?: number;
  readonly column?: number;
  /** What exactly, for people: one printable line. */
  readonly detail: string;
}

/** A mistake and where it is: the name of a file, or the path of the directory itself. */
export interface FileError extends Mistake {
  readonly file: string;
}

/** What reading came to: a value, or the mistake that prevented it. */
export type Outcome<Value> =
  | { readonly value: Value; readonly mistake?: never }
  | { readonly mistake: Mistake };

/** Length at which a detail is cut: parsers quote the text, and a hostile text must not fill a log. */
const SHOWN = 160;

/** A mistake of the whole file. */
export function mistake(fault: FileFault, detail: string): Mistake {
  return { fault, detail: printable(detail.slice(0, SHOWN)) };
}

/** `text` as one line that no terminal reads as anything but text. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?");
}

/** A mistake at `offset` (in UTF-16 units) of `text`. */
export function mistakeAt(text: string, offset: number, fault: FileFault, detail: string): Mistake {
  const before = text.slice(0, offset);
  const lines = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  return { ...mistake(fault, detail), line: lines, column };
}

/** A failed system call as the mistake that it means: `EACCES`, `ELOOP`, `EMFILE` and the like. */
export function unreadable(thrown: unknown): Mistake {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : thrown;
  return mistake("unreadable", String(code));
}
