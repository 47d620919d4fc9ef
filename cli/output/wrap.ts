/** A column is not made narrower: names and reasons stay in one piece. */
const LEAST_WIDTH = 16;

/** Widths of columns so that a line has at most `columns` characters, if wrapping the widest ones is enough for it. PURE. */
export function columnWidths(natural: readonly number[], columns: number, gap: number): number[] {
  const widths = [...natural];
  let excess = widths.reduce((sum, width) => sum + width + gap, -gap) - columns;
  for (; excess > 0; excess--) {
    const most = Math.max(...widths);
    if (most <= LEAST_WIDTH) break;
    widths[widths.lastIndexOf(most)] = most - 1;
  }
  return widths;
}

/** `text` in lines of at most `width` characters, broken at spaces where it has some. PURE. */
export function wrapped(text: string, width: number): string[] {
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
