import type { Tier } from "./world.ts";

/** What a piece of text means; how it looks is up to the terminal. */
export type Tone = Tier | "bad" | "good" | "dim" | "bold";

/** Dresses text in a tone. */
export type Paint = (tone: Tone, text: string) => string;

/** Plain text: for files, and with NO_COLOR. */
export const plain: Paint = (_tone, text) => text;

const CODES: Readonly<Record<Tone, string>> = {
  local: "32",
  regional: "36",
  global: "35",
  bad: "31;1",
  good: "32;1",
  dim: "2",
  bold: "1",
};

/** The terminal's own sixteen colours, so that they suit its background. */
export const coloured: Paint = (tone, text) =>
  text === "" ? "" : `\x1b[${CODES[tone]}m${text}\x1b[0m`;
