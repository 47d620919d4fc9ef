import { type Cell, type Paint, table } from "../output/table.ts";
import { type Migration, type SourceKind, type Step, severityOf } from "./migration.ts";

const STYLES = { well: undefined, warning: "warning", fault: "fault" } as const;

/** What happens to the objects of all contexts, and the steps to it. PURE. */
export function migrationText(
  { title, guide }: SourceKind,
  all: readonly Migration[],
  steps: readonly Step[],
  paint: Paint = (_style, text) => text,
): string {
  const rows = all.flatMap(({ context, findings }) =>
    findings.map((one): (Cell | string)[] => {
      const style = STYLES[severityOf(one)];
      const reason = { text: one.reason, ...(style !== undefined && { style }) };
      return [context, one.object, reason, one.detail ?? ""];
    }),
  );
  if (rows.length === 0) return `Nothing of ${title} was found.\n`;
  const found = table(["CONTEXT", "OBJECT", "REASON", "DETAIL"], rows, paint);
  const text = steps.map(
    (step, i) =>
      `\n${i + 1}. ${step.title}.\n${step.commands.map((line) => `     ${line}\n`).join("")}`,
  );
  const head =
    steps.length === 0
      ? ""
      : `\nNothing was changed. Steps, in an order that keeps connections (docs/guides/${guide}):\n`;
  return `${found}${head}${text.join("")}`;
}
