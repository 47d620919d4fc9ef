import { readFileSync } from "node:fs";

const GUIDES = `${import.meta.dirname}/../../docs/guides`;

/**
 * The commands below a heading of a guide, up to the next one of its rank: all blocks that are marked `sh`, in order, as they
 * stand. Throws if there are none.
 */
export function commandsOf(guide: string, heading: string): string {
  return blocksOf(guide, heading).join("\n");
}

/** The same, one by one, for a story that looks at what each of them did. */
export function blocksOf(guide: string, heading: string): string[] {
  const text = readFileSync(`${GUIDES}/${guide}`, "utf8");
  const [, below] = text.split(`\n## ${heading}\n`);
  const [section = ""] = below?.split("\n## ") ?? [];
  const blocks = [...section.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  if (blocks.length === 0) throw new Error(`${guide} has no commands below "${heading}"`);
  return blocks;
}

/** The one of these that makes something of this name: a shell function, say. */
export function blockWith(guide: string, words: string): string {
  const text = readFileSync(`${GUIDES}/${guide}`, "utf8");
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  const found = blocks.filter((block) => block.includes(words));
  if (found[0] === undefined || found.length > 1) {
    throw new Error(`${guide} has ${found.length} blocks with "${words}"`);
  }
  return found[0];
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
  readonly heading: string;
  readonly mark: string;
  readonly text: string;
}

/** The command blocks of a guide, or of one section. Throws if there are none. */
export function stepsOf(guide: string, heading?: string): Step[] {
  const all = fencedIn(readFileSync(`${GUIDES}/${guide}`, "utf8"));
  const blocks = all.filter((block) => heading === undefined || block.heading === heading);
  const steps = blocks.flatMap(({ mark, text }, i): Step[] => {
    if (mark !== "sh" && mark !== "sh node") return [];
    const next = blocks[i + 1];
    const shown = next?.mark === "output" ? { shown: next.text } : {};
    return [{ commands: text, place: mark === "sh" ? "desk" : "node", ...shown }];
  });
  if (steps.length === 0) throw new Error(`${guide} has no commands below "${heading}"`);
  return steps;
}

/** The headings of a guide below which there are commands. */
export function headingsWithCommands(guide: string): string[] {
  const marks = ["sh", "sh node"];
  const blocks = fencedIn(readFileSync(`${GUIDES}/${guide}`, "utf8"));
  const headings = blocks.flatMap(({ heading, mark }) => (marks.includes(mark) ? [heading] : []));
  return [...new Set(headings)];
}

/** Line by line, because a comment in a block looks like a heading. */
function fencedIn(guide: string): Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let open: { mark: string; lines: string[] } | undefined;
  for (const line of guide.split("\n")) {
    if (line.startsWith("```")) {
      if (open === undefined) open = { mark: line.slice(3), lines: [] };
      else {
        blocks.push({
          heading,
          mark: open.mark,
          text: open.lines.map((one) => `${one}\n`).join(""),
        });
        open = undefined;
      }
    } else if (open !== undefined) open.lines.push(line);
    else if (line.startsWith("#")) heading = line.replace(/^#+ /, "");
  }
  return blocks;
}
