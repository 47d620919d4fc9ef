import { shown } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { portText } from "../merge/conflicts.ts";
import type { MergedService } from "../merge/merged.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import { importableSlices } from "./imported-slices.ts";

/** Why no cluster uses an endpoint of an export. */
export interface LeftOut {
  readonly users: "cluster" | "other cluster";
  readonly reasons: readonly Reason[];
  /** What differs, as sentences. */
  readonly detail: readonly string[];
}

/**
 * Why importing clusters leave out all endpoints that an export publishes; undefined if they use some, or if it publishes none.
 * `slices`: of the export, with endpoints; at least one of each family and set of ports.
 */
export function allLeftOut(
  record: ExportRecord,
  slices: readonly SliceFact[],
  merged: MergedService,
): LeftOut | undefined {
  if (slices.length === 0) return undefined;
  const imported = importableSlices(merged, [{ record, slices, state: "alive" }]);
  if (imported.slices.length > 0) return undefined;
  const reasons = [...new Set(imported.omitted.map(({ reason }) => reason))].sort();
  const detail = reasons.map((reason) => SENTENCES[reason](record, merged));
  return { users: "cluster", reasons, detail };
}

type Sentence = (record: ExportRecord, merged: MergedService) => string;

const SENTENCES = {
  "family-not-merged": ({ families }, merged) =>
    `The import's IP families are ${merged.families.join(", ")}, this Service's ${families.join(", ")}.`,
  "port-not-merged": ({ ports }, merged) =>
    `The import's ports are ${textOf(merged.ports)}, this Service's ${textOf(ports)}. A port is used if it has the same number and protocol, and is not another port by its name.`,
} as const satisfies Partial<Record<Reason, Sentence>>;

/** Ports as one short, printable text. */
function textOf(ports: ExportRecord["ports"]): string {
  return ports.length === 0 ? "none" : shown(ports.map(portText).join(", "));
}
