import {
  escapedText,
  joined,
  NOTHING,
  type Paint,
  type Printable,
  painted,
  printable,
  type Style,
} from "./printable.ts";

/** A cell, and how it is coloured on a terminal. Its text is escaped. */
export interface Cell {
  readonly text: string;
  readonly style?: Style;
}

/** Where a text is shown. */
export interface Screen {
  readonly paint: Paint;
  /** Characters of a line; absent: lines have any length, as in a file, where each row is one line. */
  readonly columns?: number;
}

/** Neither a terminal nor a colour. */
export const PLAIN: Screen = { paint: (_style, text) => text };

/** Spaces between columns, as kubectl has them. */
const GAP = "   ";

/**
 * Rows under a heading, in columns as kubectl prints them; no trailing spaces. On a screen that is too narrow, the widest columns are
 * wrapped. PURE.
 */
export function table(
  heading: readonly string[],
  rows: readonly (readonly (Cell | string)[])[],
  { paint, columns }: Screen = PLAIN,
): Printable {
  const head = heading.map((text): Cell => ({ text, style: "heading" }));
  const cells = [head, ...rows].map((row) =>
    row.map((cell): Cell => {
      const { text, style } = typeof cell === "string" ? { text: cell, style: undefined } : cell;
      return { text: escapedText(text), ...(style !== undefined && { style }) };
    }),
  );
  const natural = heading.map((_name, column) =>
    Math.max(...cells.map((row) => row[column]?.text.length ?? 0)),
  );
  const widths = columns === undefined ? natural : columnWidths(natural, columns, GAP.length);
  return joined(
    cells.flatMap((row) => linesOf(row, widths).map((line) => lineText(line, widths, paint))),
  );
}

/** A row as lines: the second has what does not fit into the first. */
function linesOf(row: readonly Cell[], widths: readonly number[]): Cell[][] {
  const parts = row.map(({ text }, column) => wrapped(text, widths[column] ?? text.length));
  const height = Math.max(...parts.map((lines) => lines.length));
  return Array.from({ length: height }, (_none, i) =>
    row.map((cell, column) => ({ ...cell, text: parts[column]?.[i] ?? "" })),
  );
}

function lineText(line: readonly Cell[], widths: readonly number[], paint: Paint): Printable {
  const last = line.findLastIndex(({ text }) => text !== "");
  const shown = line.slice(0, last + 1).map(({ text, style }, column) => {
    const cell = text === "" ? NOTHING : painted(paint, style, text);
    if (column === last) return cell;
    return printable`${cell}${" ".repeat((widths[column] ?? 0) - text.length) + GAP}`;
  });
  return printable`${joined(shown)}\n`;
}

/** A line of a plan. */
export interface PlanLine {
  readonly context: string;
  readonly action: string;
  /** Such as `namespace/clusterset-proxy`. */
  readonly object: string;
  readonly detail?: string;
}

const STYLES: Readonly<Record<string, Style>> = {
  created: "good",
  changed: "warning",
  deleted: "warning",
  conflict: "fault",
  unchanged: "faint",
  kept: "faint",
};

/** What is to become of objects, a line for each. PURE. */
export function planText(lines: readonly PlanLine[], screen: Screen): Printable {
  const rows = lines.map(({ context, action, object, detail = "" }): (Cell | string)[] => {
    const style = STYLES[action];
    return [context, { text: action, ...(style !== undefined && { style }) }, object, detail];
  });
  return table(["CONTEXT", "ACTION", "OBJECT", "DETAIL"], rows, screen);
}

/** A column is not made narrower: names and reasons stay in one piece. */
const LEAST_WIDTH = 16;

/** Widths of columns so that a line has at most `columns` characters, if wrapping the widest ones is enough for it. PURE. */
function columnWidths(natural: readonly number[], columns: number, gap: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width + gap, -gap) - columns;
  for (; excess > 0; excess--) {
    const most = Math.max(...widths);
    if (most <= LEAST_WIDTH) break;
    widths[widths.lastIndexOf(most)] = most - 1;
  }
  return widths;
}

/** Lines of a text on a screen: the second and further ones are `indented` as much as the first one is after what is printed before it. PURE. */
export function sentence(text: string, { columns }: Screen, indented = 0): Printable {
  const shown = escapedText(text);
  const lines = columns === undefined ? [shown] : wrapped(shown, columns - indented);
  const parts = lines.map((line) => printable`${line}`);
  return joined(parts, printable`\n${" ".repeat(indented)}`);
}

/** `text` in lines of at most `width` characters, broken at spaces where it has some. PURE. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > width && width > 0) {
    const space = rest.lastIndexOf(" ", width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest];
}
