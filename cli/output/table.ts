/** A cell, and how it is coloured on a terminal. */
export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

/** What a colour says; never the only place where it is said. */
export type Style = "good" | "warning" | "fault" | "faint" | "heading";

/** Colours a text for a terminal, or returns it as it is. */
export type Paint = (style: Style, text: string) => string;

/** Spaces between columns, as kubectl has them. */
const GAP = "   ";

/** Rows under a heading, in columns as kubectl prints them; no trailing spaces. PURE. */
export function table(
  heading: readonly string[],
  rows: readonly (readonly (Cell | string)[])[],
  paint: Paint = (_style, text) => text,
): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === "string" ? { text: cell } : cell)),
  );
  const widths = heading.map((name, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]?.text.length ?? 0)),
  );
  const line = (row: readonly Cell[]): string => {
    const last = row.findLastIndex(({ text }) => text !== "");
    return row
      .slice(0, last + 1)
      .map(({ text, style }, column) => {
        const shown = style === undefined ? text : paint(style, text);
        return column === last
          ? shown
          : shown + " ".repeat((widths[column] ?? 0) - text.length) + GAP;
      })
      .join("");
  };
  const head = heading.map((text): Cell => ({ text, style: "heading" }));
  return [head, ...cells].map((row) => `${line(row)}\n`).join("");
}
