/** One thing that was measured. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  /** The same thing done the plainest way, in the same run. */
  readonly beside?: string;
  /** Ours by the other. */
  readonly ratio?: number;
  readonly target?: Target;
}

export interface Target {
  readonly text: string;
  readonly met: boolean;
}

/** Rows under a heading. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

const HEAD = ["", "ours", "beside it", "ratio", "target", "met"];

/** A table for a person: aligned, without colours. */
export function tableOf(sections: readonly Section[]): string {
  const body = sections.map(({ title, rows }) => ({ title, cells: rows.map(cellsOf) }));
  const all = [HEAD, ...body.flatMap(({ cells }) => cells)];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  const parts = body.map(({ title, cells }) => ["", title, ...cells.map(line)].join("\n"));
  return [line(HEAD), ...parts].join("\n");
}

function cellsOf({ what, ours, beside = "", ratio, target }: Row): string[] {
  const met = target === undefined ? "" : target.met ? "yes" : "NO";
  return [`  ${what}`, ours, beside, ratio?.toFixed(2) ?? "", target?.text ?? "", met];
}

/** `at most` this many times what stands beside it. */
export function atMostTimes(limit: number, ratio: number): Pick<Row, "ratio" | "target"> {
  return { ratio, target: { text: `<= ${limit} x`, met: ratio <= limit } };
}

/** `name` of the figures is at most so many milliseconds. */
export function atMostMs(name: string, limit: number, ms: number): Target {
  return { text: `${name} <= ${limit} ms`, met: ms <= limit };
}
