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
