import type { ConditionEvent } from "./condition-events.ts";

/**
 * An Event if another cluster decides now although the previous one still exports the Service: usually an older age
 * appeared, which nothing can verify. `before`, `now`: the exporting clusters, the one that decides first.
 */
export function deciderEvents(before: readonly string[], now: readonly string[]): ConditionEvent[] {
  const [was] = before;
  const [is] = now;
  if (was === undefined || is === undefined || was === is || !now.includes(was)) return [];
  const message = `Cluster ${is} decides conflicts now, instead of ${was}, which still exports the Service: its export is older, or --deciding-cluster names it.`;
  return [{ level: "Warning", reason: "DecidingClusterChanged", message }];
}
