import { styleText } from "node:util";
import type { Paint, Style } from "./output/table.ts";

/** The user's side of a command. */
export interface Terminal {
  /** Writes to standard output. */
  readonly out: (text: string) => void;
  /** Writes to standard error: progress, warnings, errors. */
  readonly note: (text: string) => void;
  /** Reads a line after a question; undefined if nobody can answer. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** Colours what goes to standard output, if that is a terminal. */
  readonly paint: Paint;
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
