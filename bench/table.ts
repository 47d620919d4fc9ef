/** One thing that was measured. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  /** The same done in the simplest way, or by another program, in the same run. */
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

const HEAD = ["what", "ours", "beside it", "ratio", "target", "met"];
/** The columns of figures. */
const TO_THE_RIGHT = new Set([3]);

/** Markdown that a person can read as it is: aligned under headings. */
export function tableOf(sections: readonly Section[]): string {
  return sections
    .map(({ title, rows }) => `### ${title}\n\n${aligned(rows.map(cellsOf))}`)
    .join("\n");
}

/** What was not met, of all that has a target. */
export function missedIn(sections: readonly Section[]): string[] {
  return sections.flatMap(({ title, rows }) =>
    rows.flatMap(({ what, ours, target }) =>
      target === undefined || target.met
        ? []
        : [`${title}: ${what.trim()}: ${ours}, not ${target.text}`],
    ),
  );
}

function aligned(body: readonly (readonly string[])[]): string {
  const all = [HEAD, ...body];
  const widths = HEAD.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return TO_THE_RIGHT.has(column) ? cell.padStart(width) : cell.padEnd(width);
    });
    return `| ${cells.join(" | ")} |\n`;
  };
  const rule = widths.map((width, column) =>
    TO_THE_RIGHT.has(column) ? `${"-".repeat(width - 1)}:` : "-".repeat(width),
  );
  return [line(HEAD), line(rule), ...body.map(line)].join("");
}

function cellsOf({ what, ours, beside = "", ratio, target }: Row): string[] {
  const met = target === undefined ? "" : target.met ? "yes" : "**no**";
  return [what, ours, beside, ratio?.toFixed(2) ?? "", target?.text ?? "", met];
}

/** At most this many times the value beside it. */
export function atMostTimes(limit: number, ratio: number): Pick<Row, "ratio" | "target"> {
  return { ratio, target: { text: `<= ${limit} x`, met: ratio <= limit } };
}

/** At most so many of a unit; `name` of several figures, or nothing. */
export function atMost(name: string, limit: number, unit: string, value: number): Target {
  return { text: `${name} <= ${limit} ${unit}`.trimStart(), met: value <= limit };
}

/** `name` of the figures is at most so many milliseconds. */
export function atMostMs(name: string, limit: number, ms: number): Target {
  return atMost(name, limit, "ms", ms);
}
