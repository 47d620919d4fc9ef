import { field, textField } from "../../api/parse/fields.ts";
import type { Severity } from "../exit-code.ts";
import type { Printable } from "../output/printable.ts";
import { type Cell, type Screen, table } from "../output/table.ts";

/** One connection of the caller. */
export interface Attempt {
  /** When it began: milliseconds since 1970, by the clock of the caller's node. */
  readonly at: number;
  /** Until it was established, or had failed. */
  readonly ms: number;
  readonly error?: string;
}

/** A part of a drill. */
export interface Phase {
  readonly name: string;
  /** Where connections went at its end: `regional cluster-2 (1)`. */
  readonly answeredBy: string;
  readonly attempts: readonly Attempt[];
}

/** An attempt from a line of the caller's log; undefined if it is none. PURE. */
export function parseAttempt(line: string): Attempt | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const [at, ms] = [field(value, "at"), field(value, "ms")];
  const error = textField(value, "error");
  if (typeof at !== "number" || typeof ms !== "number") return undefined;
  return { at, ms, ...(error !== undefined && { error }) };
}

/** Figures of a phase, for documents. PURE. */
export function figuresOf({ name, answeredBy, attempts }: Phase) {
  const failed = attempts.filter(({ error }) => error !== undefined);
  const errors: Record<string, number> = {};
  for (const { error = "" } of failed) errors[error] = (errors[error] ?? 0) + 1;
  const established = attempts.filter(({ error }) => error === undefined).map(({ ms }) => ms);
  return {
    ...{ phase: name, answeredBy, connections: attempts.length, failed: failed.length, errors },
    ...(established.length > 0 && { slowestMs: Math.max(...established) }),
  };
}

/** The phases as a table. PURE. */
export function figuresTable(phases: readonly Phase[], screen?: Screen): Printable {
  const rows = phases.map((phase) => {
    const { connections, failed, errors, slowestMs } = figuresOf(phase);
    const why = Object.entries(errors).map(([error, count]) => `${error} ${count}`);
    const cell: Cell =
      failed === 0 ? { text: "0" } : { text: `${failed} (${why.join(", ")})`, style: "fault" };
    const slowest = slowestMs === undefined ? "-" : `${slowestMs.toFixed(1)} ms`;
    return [phase.name, phase.answeredBy, String(connections), slowest, cell];
  });
  return table(["PHASE", "ANSWERED BY", "CONNECTIONS", "SLOWEST", "FAILED"], rows, screen);
}

/** A failed connection is a fault. PURE. */
export function severityOf(phases: readonly Phase[]): Severity {
  return phases.some((phase) => figuresOf(phase).failed > 0) ? "fault" : "well";
}
