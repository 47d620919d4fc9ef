import { readFileSync } from "node:fs";

const GUIDES = `${import.meta.dirname}/../../docs/guides`;

/** The commands below a heading of a guide, up to the next one of its rank: blocks that are marked `sh`. Throws if there are none. */
export function commandsOf(guide: string, heading: string): string {
  return blocksOf(guide, heading).join("\n");
}

/** The same, one by one, for a story that looks at what each of them did. */
export function blocksOf(guide: string, heading: string): string[] {
  const blocks = fencedIn(guide).filter((one) => one.section === heading && one.mark === "sh");
  if (blocks.length === 0) throw new Error(`${guide} has no commands below "${heading}"`);
  return blocks.map(({ text }) => text);
}

/** The block that contains these words. Throws unless there is exactly one. */
export function blockWith(guide: string, words: string): string {
  const blocks = fencedIn(guide).filter(({ mark, text }) => mark === "sh" && text.includes(words));
  if (blocks[0] === undefined || blocks.length > 1) {
    throw new Error(`${guide} has ${blocks.length} blocks with "${words}"`);
  }
  return blocks[0].text;
}

/** A shell function of a guide, without what calls it there. */
export function functionOf(guide: string, name: string): string {
  const found = new RegExp(`^${name}\\(\\) \\{.*?^\\}$`, "ms").exec(blockWith(guide, `${name}()`));
  if (found === null) throw new Error(`${guide} has no function ${name}`);
  return found[0];
}

/** A block of commands, and what it is shown to print. */
export interface Step {
  readonly commands: string;
  /** At one's desk, or, marked `sh node`, as root on a node. */
  readonly place: "desk" | "node";
  /** The next block, if that is marked `output`. */
  readonly shown?: string;
}

/** A block of any kind: the info string of its fence, and its content. */
interface Block {
  /** The nearest heading of rank 2 above it, and of any rank. */
  readonly section: string;
  readonly heading: string;
  readonly mark: string;
  readonly text: string;
}

/** The command blocks of a guide, or of one section. Throws if there are none. */
export function stepsOf(guide: string, heading?: string): Step[] {
  const blocks = fencedIn(guide).filter((one) => heading === undefined || one.heading === heading);
  const steps = blocks.flatMap(({ mark, text }, i): Step[] => {
    if (mark !== "sh" && mark !== "sh node") return [];
    const next = blocks[i + 1];
    const shown = next?.mark === "output" ? { shown: next.text } : {};
    return [{ commands: text, place: mark === "sh" ? "desk" : "node", ...shown }];
  });
  if (steps.length === 0) throw new Error(`${guide} has no commands below "${heading}"`);
  return steps;
}

/** The headings of a guide, or of one section, below which there are commands. */
export function headingsWithCommands(guide: string, section?: string): string[] {
  const marks = ["sh", "sh node"];
  const blocks = fencedIn(guide).filter((one) => section === undefined || one.section === section);
  const headings = blocks.flatMap(({ heading, mark }) => (marks.includes(mark) ? [heading] : []));
  return [...new Set(headings)];
}

/** Line by line, because a comment in a block looks like a heading. */
function fencedIn(guide: string): Block[] {
  const blocks: Block[] = [];
  let [section, heading] = ["", ""];
  let open: { mark: string; lines: string[] } | undefined;
  for (const line of readFileSync(`${GUIDES}/${guide}`, "utf8").split("\n")) {
    if (line.startsWith("```")) {
      if (open === undefined) open = { mark: line.slice(3), lines: [] };
      else {
        const text = open.lines.map((one) => `${one}\n`).join("");
        blocks.push({ section, heading, mark: open.mark, text });
        open = undefined;
      }
    } else if (open !== undefined) open.lines.push(line);
    else if (line.startsWith("#")) {
      heading = line.replace(/^#+ /, "");
      if (line.startsWith("## ")) section = heading;
    }
  }
  return blocks;
}

/**
 * Text that differs from one run to the next, and its replacement. The cluster of an address, and words, are compared.
 */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>"],
  [/"(at|ms|maxMs|seconds|removed)":[\d.]+/g, '"$1":<number>'],
  // Columns of kubectl, such as AGE.
  [/\b(?:\d+[smhd])+\b/g, "<age>"],
  // Of pods and Services.
  [/\b10\.(\d+)\.\d+\.\d+\b/g, "10.$1.<host>"],
  [/\bfd00:10:(\d+):[\da-f:]+/g, "fd00:10:$1:<host>"],
  // Pods of a ReplicaSet, and of a DaemonSet.
  [/(?:-[bcdfghjklmnpqrstvwxz2456789]{7,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, "-<pod>"],
  // Imported slices.
  [/\b[\da-f]{16}\b/g, "<hash>"],
  // Of connection tracking: seconds that are left, and the client's port.
  [/^(tcp|udp) +(\d+) \d+ /gm, "$1 $2 <seconds> "],
  [/\b([sd]port)=\d{5}\b/g, "$1=<port>"],
  [/[^\S\n]+/g, " "],
  [/ $/gm, ""],
];

/** Stands for any text within a line, and, alone, for any number of lines. */
const LEFT_OUT = "…";

/**
 * Whether what a guide shows is what is seen, but for what differs from one run to the next: addresses of pods, names of pods,
 * times, widths of columns. "…" stands for what the guide leaves out.
 */
export function isAsShown(shown: string, seen: string): boolean {
  const pattern = masked(shown)
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => (line.trim() === LEFT_OUT ? "(?:.*\n)*?" : `${patternOf(line)}\n`))
    .join("");
  return new RegExp(`^${pattern}$`).test(`${masked(seen).replace(/\n$/, "")}\n`);
}

/** A text with what differs from run to run replaced by what it is. */
export function masked(text: string): string {
  return MASKS.reduce((rest, [what, by]) => rest.replaceAll(what, by), text);
}

function patternOf(line: string): string {
  const parts = line.split(LEFT_OUT);
  return parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*");
}
