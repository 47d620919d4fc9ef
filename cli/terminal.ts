import { createInterface } from "node:readline/promises";
import { styleText } from "node:util";
import type { Paint, Printable, Style } from "./output/printable.ts";
import type { Screen } from "./output/table.ts";

/** The user's side of the program: streams of text. `paint` and `columns` are of standard output, if that is a terminal. */
export interface Streams extends Screen {
  /** Writes to standard output. */
  readonly out: (text: string) => void;
  /** Writes to standard error: progress, warnings, errors. */
  readonly note: (text: string) => void;
  /** Reads a line after a question; undefined if nobody can answer. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** True if standard error is a terminal: a command that waits says for what. */
  readonly hasProgress?: boolean;
  /** Variables of the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home directory and name of the user. */
  readonly home: string;
  readonly user: string;
  /** Milliseconds since 1970: to write and compare times of day. */
  readonly timeOfDay: () => number;
  /** Aborted on Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The user's side of a command, which writes nothing but printable text: no text of others can control a terminal. */
export interface Terminal extends Omit<Streams, "out" | "note" | "ask"> {
  readonly out: (text: Printable) => void;
  readonly note: (text: Printable) => void;
  readonly ask: (question: Printable) => Promise<string | undefined>;
}

/** A terminal on streams. */
export function terminalOn(streams: Streams): Terminal {
  return {
    ...streams,
    out: (text) => streams.out(String(text)),
    note: (text) => streams.note(String(text)),
    ask: (question) => streams.ask(String(question)),
  };
}

const STYLES: Readonly<Record<Style, Parameters<typeof styleText>[0]>> = {
  good: "green",
  warning: "yellow",
  fault: "red",
  faint: "dim",
  heading: "bold",
};

/** Colours for a stream: none unless it is a terminal; NO_COLOR and FORCE_COLOR are respected. */
export function painter(stream: NodeJS.WriteStream): Paint {
  return (style, text) => styleText(STYLES[style], text, { stream });
}

/** Where a person reads and types. */
export interface Person {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WritableStream;
  /** Aborted on SIGINT. */
  readonly signal: AbortSignal;
}

/**
 * Asks a person, and returns the line that they type: empty if they end the input (Ctrl-D), undefined if the input is no terminal. Rejects at
 * Ctrl-C, once `signal` is aborted.
 */
export async function ask(
  question: string,
  { input, output, signal }: Person,
): Promise<string | undefined> {
  if (!input.isTTY) return undefined;
  const lines = createInterface({ input, output });
  // The terminal is in raw mode: Ctrl-C is a character, and no signal, until readline is asked.
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    // The wait is here, and not at the caller: readline is closed when this function returns.
    return await Promise.race([lines.question(question, { signal }), ended]);
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return "";
  } finally {
    lines.close();
  }
}
