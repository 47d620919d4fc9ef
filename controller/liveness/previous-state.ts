import type { Shift } from "../../api/shift.ts";
import type { ClusterState } from "../model/facts.ts";
import type { ImportedSliceFact } from "../model/parse-imported-slice.ts";

/**
 * The state of a cluster when its imported slices were written: stale if no endpoint is ready and a non-terminating one
 * serves. Alive if the slices do not show it. PURE.
 */
export function previousState(
  slices: readonly Pick<ImportedSliceFact, "ready" | "servesOnly">[],
): ClusterState {
  if (slices.some(({ ready }) => ready)) return "alive";
  return slices.some(({ servesOnly }) => servesOnly) ? "stale" : "alive";
}

/** The last window in which a cluster left or returned, as its imported slices show it. PURE. */
export function previousShift(
  slices: readonly Pick<ImportedSliceFact, "shift">[],
): Shift | undefined {
  const shifts = slices.flatMap(({ shift }) => shift ?? []);
  return shifts.sort((a, b) => b.from - a.from)[0];
}
