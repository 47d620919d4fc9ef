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

/** Spaces between columns: as kubectl has them, or fewer where a screen is too narrow for that. */
const GAPS = [3, 2, 1] as const;

/** Widths of columns, and the spaces between two. */
interface Layout {
  readonly widths: readonly number[];
  readonly gap: number;
}

/**
 * Rows under a heading, in columns as kubectl prints them; no trailing spaces. On a screen that is too narrow, the widest columns are
 * wrapped, and columns are nearer to each other. PURE.
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
  // Not Math.max(...): a call has at most some hundred thousand arguments.
  const natural = heading.map((_name, column) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[column]?.text ?? "")), 0),
  );
  const layout = layoutOf(natural, heading.map(widthOf), columns ?? Number.POSITIVE_INFINITY);
  return joined(
    cells.flatMap((row) => linesOf(row, layout).map((line) => lineText(line, layout, paint))),
  );
}

/** A row as lines: the second has what does not fit into the first. */
function linesOf(row: readonly Cell[], { widths }: Layout): Cell[][] {
  const parts = row.map(({ text }, column) => wrapped(text, widths[column] ?? widthOf(text)));
  const height = Math.max(...parts.map((lines) => lines.length));
  return Array.from({ length: height }, (_none, i) =>
    row.map((cell, column) => ({ ...cell, text: parts[column]?.[i] ?? "" })),
  );
}

function lineText(line: readonly Cell[], { widths, gap }: Layout, paint: Paint): Printable {
  const last = line.findLastIndex(({ text }) => text !== "");
  const shown = line.slice(0, last + 1).map(({ text, style }, column) => {
    const cell = text === "" ? NOTHING : painted(paint, style, text);
    if (column === last) return cell;
    const padding = Math.max((widths[column] ?? 0) - widthOf(text), 0) + gap;
    return printable`${cell}${" ".repeat(padding)}`;
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

/** A column is not made narrower while there is another way: names and reasons stay in one piece. */
const LEAST_WIDTH = 16;

/**
 * The layout with the widest gap with which lines have at most `columns` characters. If there is none, names are broken, too, and a column is as narrow
 * as its heading; if that does not help either, the terminal breaks lines, and not the names. PURE.
 */
function layoutOf(
  natural: readonly number[],
  headings: readonly number[],
  columns: number,
): Layout {
  const inOnePiece = GAPS.map((gap) =>
    layoutWith(
      natural,
      natural.map(() => LEAST_WIDTH),
      columns,
      gap,
    ),
  );
  const [narrowest = { widths: natural, gap: 0 }] = inOnePiece.slice(-1);
  const broken = layoutWith(natural, headings, columns, narrowest.gap);
  const fits = ({ widths, gap }: Layout) => lineWidth(widths, gap) <= columns;
  return [...inOnePiece, broken].find(fits) ?? narrowest;
}

function lineWidth(widths: readonly number[], gap: number): number {
  return widths.reduce((sum, width) => sum + width + gap, -gap);
}

/** Columns with which a line has at most `columns` characters, if making the widest ones narrower, to `least` each, is enough for it. PURE. */
function layoutWith(
  natural: readonly number[],
  least: readonly number[],
  columns: number,
  gap: number,
): Layout {
  const widths = [...natural];
  for (let excess = lineWidth(widths, gap) - columns; excess > 0; excess--) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const most = Math.max(...spare);
    if (most === 0) break;
    widths[spare.lastIndexOf(most)] = most - 1;
  }
  return { widths, gap };
}

/** Columns by which further lines of a sentence are indented, so that no text of others begins a line. */
const INDENTED = 2;

/** Lines of a text on a screen: the second and further ones are indented, by `before` if something of that width is printed before the first one. PURE. */
export function sentence(text: string, { columns }: Screen, before = 0): Printable {
  const shown = escapedText(text);
  const indented = Math.max(before, INDENTED);
  const lines = columns === undefined ? [shown] : wrapped(shown, columns - indented);
  const parts = lines.map((line) => printable`${line}`);
  return joined(parts, printable`\n${" ".repeat(indented)}`);
}

/** Characters that terminals show in two columns, and those that they show in none. */
const WIDE =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Bopo}\p{Emoji_Presentation}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{3000}-\u{303e}]/u;
const NARROW = /\p{M}/u;

/** Columns of a text on a terminal. PURE. */
function widthOf(text: string): number {
  // Of ASCII, each character is a column.
  if (!/[^\x20-\x7e]/.test(text)) return text.length;
  let width = 0;
  for (const char of text) width += widthOfCharacter(char);
  return width;
}

function widthOfCharacter(char: string): number {
  if (NARROW.test(char)) return 0;
  return WIDE.test(char) ? 2 : 1;
}

/** The number of characters (UTF-16) at the beginning of a text that fit into `columns`, at least one. PURE. */
function fitting(text: string, columns: number): number {
  let width = 0;
  let length = 0;
  for (const char of text) {
    width += widthOfCharacter(char);
    if (width > columns && length > 0) return length;
    length += char.length;
  }
  return length;
}

/** `text` in lines of at most `width` columns, broken at spaces where it has some. PURE. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (width > 0) {
    // Not the width of the rest, which others may have made long.
    const fits = fitting(rest, width);
    if (fits === rest.length) break;
    const space = rest.lastIndexOf(" ", fits);
    const end = space > 0 ? space : fits;
    lines.push(rest.slice(0, end));
    rest = rest.slice(space > 0 ? end + 1 : end);
  }
  return [...lines, rest];
}
