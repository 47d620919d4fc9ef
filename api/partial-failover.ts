import type { Reason } from "./reasons.ts";

const PARTIAL: readonly string[] = ["slice-foreign", "slice-refused"] satisfies readonly Reason[];

/** True if a Service with this reason may have a part of its failover slices only: the rest does not come by itself. PURE. */
export function isPartial(reason: string): boolean {
  return PARTIAL.includes(reason);
}
