import type { EndpointCondition, SliceFact } from "../model/facts.ts";

/** The condition of an endpoint as this node uses it: while it waits, the one from before the shift of its slice. PURE. */
export function shiftedCondition(
  condition: EndpointCondition,
  { shift, waits }: Pick<SliceFact, "shift" | "waits">,
): EndpointCondition {
  if (waits === undefined || shift === undefined) return condition;
  if (shift.direction === "draining") return condition === "serving" ? "ready" : condition;
  return condition === "ready" ? "serving" : condition;
}
