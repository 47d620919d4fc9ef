import { field, fieldAt } from "../../api/parse/fields.ts";
import { timeOf } from "../../api/parse/time-span.ts";
import type { Condition } from "./condition.ts";

/** The valid conditions of a status; others are overwritten. */
export function parseConditions(object: unknown): Condition[] {
  const list = fieldAt(object, "status", "conditions");
  return Array.isArray(list) ? list.flatMap((raw: unknown) => parseCondition(raw) ?? []) : [];
}

function parseCondition(raw: unknown): Condition | undefined {
  const text = (name: string): string | undefined => {
    const value = field(raw, name);
    return typeof value === "string" ? value : undefined;
  };
  const type = text("type");
  const status = text("status");
  const reason = text("reason");
  const lastTransitionTime = text("lastTransitionTime");
  if (status !== "True" && status !== "False" && status !== "Unknown") return undefined;
  if (type === undefined || reason === undefined || lastTransitionTime === undefined) {
    return undefined;
  }
  if (timeOf(lastTransitionTime) === undefined) return undefined;
  return {
    type,
    status,
    reason,
    message: text("message") ?? "",
    lastTransitionTime,
    observedGeneration: numberOf(field(raw, "observedGeneration")),
  };
}

/** `metadata.generation`; 0 if it is missing. */
export function generationOf(object: unknown): number {
  return numberOf(fieldAt(object, "metadata", "generation"));
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
