/**
 * The document with the block between `<!-- name -->` and `<!-- /name -->` replaced by `text`. Throws if it has
 * no such block, or more than one. PURE.
 */
export function withBlock(document: string, name: string, text: string): string {
  const { before, after } = around(document, name);
  return `${before}${text}${after}`;
}

/** What stands in that block. Throws as `withBlock` does. PURE. */
export function blockOf(document: string, name: string): string {
  return around(document, name).block;
}

function around(document: string, name: string) {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest, ...more] = document.split(`${open}\n`);
  const [block, after, ...others] = (rest ?? "").split(close);
  if (
    before === undefined ||
    block === undefined ||
    after === undefined ||
    more.length + others.length > 0
  ) {
    throw new Error(`expected one block between ${open} and ${close}`);
  }
  return { before: `${before}${open}\n`, block, after: `${close}${after}` };
}

/** A Markdown table, one line a row. PURE. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("");
}

/** Words in code style, separated by commas. PURE. */
export function codeList(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(", ");
}
