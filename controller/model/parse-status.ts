import { field, fieldAt } from "../../api/parse/fields.ts";
import { timeOf } from "../../api/parse/time.ts";
import type { Condition } from "./condition.ts";

/**
 * The conditions of an object's status, those that are well formed: what else stands there is nothing to go by, and
 * is written anew.
 */
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

/** `metadata.generation`: what `observedGeneration` repeats; 0 where there is none. */
export function generationOf(object: unknown): number {
  return numberOf(fieldAt(object, "metadata", "generation"));
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
