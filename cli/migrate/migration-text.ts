import { joined, NOTHING, type Printable, printable } from "../output/printable.ts";
import { type Cell, PLAIN, type Screen, table } from "../output/table.ts";
import { type Migration, type SourceKind, type Step, severityOf } from "./migration.ts";

const STYLES = { well: undefined, warning: "warning", fault: "fault" } as const;

/** What happens to the objects of all contexts, and the steps to it. PURE. */
export function migrationText(
  { title, guide }: SourceKind,
  all: readonly Migration[],
  steps: readonly Step[],
  screen: Screen = PLAIN,
): Printable {
  const rows = all.flatMap(({ context, findings }) =>
    findings.map((one): (Cell | string)[] => {
      const style = STYLES[severityOf(one)];
      const reason = { text: one.reason, ...(style !== undefined && { style }) };
      return [context, one.object, reason, one.detail ?? ""];
    }),
  );
  if (rows.length === 0) return printable`Nothing of ${title} was found.\n`;
  const found = table(["CONTEXT", "OBJECT", "REASON", "DETAIL"], rows, screen);
  const text = steps.map((step, i) => {
    const commands = step.commands.map((line) => printable`     ${line}\n`);
    return printable`\n${i + 1}. ${step.title}.\n${joined(commands)}`;
  });
  const head =
    steps.length === 0
      ? NOTHING
      : printable`\nNothing was changed. Steps, in an order that keeps connections (docs/guides/${guide}):\n`;
  return joined([found, head, ...text]);
}
