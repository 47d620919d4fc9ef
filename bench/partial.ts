import type { Run } from "./page.ts";
import { missedIn, type Section, tableOf } from "./table.ts";

const NOT_MET = "Not met:\n\n";
const ALL_MET = "Every target was met.\n";

/**
 * The report that stands on the page, with these sections instead of those of the same titles: the others stay as they
 * were measured, and a line says when and how these were. Throws if what stands there is no report. PURE.
 */
export function withSections(report: string, run: Run, sections: readonly Section[]): string {
  const [head = "", ...rest] = report.split(/^(?=### )/m);
  const titles = sections.map(({ title }) => title);
  const [said = "", verdict] = head.split(/^(?=Not met:|Every target)/m);
  if (verdict === undefined) throw new Error("expected a report of the benchmark");
  const lines = said.trimEnd().split("\n");
  const told = lines.filter((line) => !titles.some((title) => line.startsWith(`${title}: `)));
  const missed = [
    ...(verdict.match(/^\* .*$/gm) ?? []).filter(
      (line) => !titles.some((title) => line.startsWith(`* ${title}: `)),
    ),
    ...missedIn(sections).map((line) => `* ${line}`),
  ];
  const tables = new Map(rest.map((text) => [titleOf(text), text.trimEnd()]));
  for (const one of sections) tables.set(one.title, tableOf([one]).trimEnd());
  return [
    ...[...told, ...titles.map((title) => `${title}: ${measured(run)}`), ""].map(
      (line) => `${line}\n`,
    ),
    missed.length === 0 ? ALL_MET : `${NOT_MET}${missed.map((line) => `${line}\n`).join("")}`,
    ...[...tables.values()].map((table) => `\n${table}\n`),
  ].join("");
}

function measured({ date, code, command, minutes, load: [before, after] }: Run): string {
  return `on ${date.toISOString().slice(0, 10)}, ${code}, with \`${command}\`, in ${minutes.toFixed(1)} minutes; load ${before.toFixed(1)} before, ${after.toFixed(1)} at the end.`;
}

function titleOf(section: string): string {
  return /^### (.*)$/m.exec(section)?.[1] ?? "";
}
