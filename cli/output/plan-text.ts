import type { Printable, Style } from "./printable.ts";
import { type Cell, type Screen, table } from "./table.ts";

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
