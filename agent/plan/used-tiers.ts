import { portInFamily } from "../model/model.ts";
import type { ImportPlan } from "./import-plan.ts";

/** The tier that each port uses, as `ImportView.inUse`. PURE. */
export function usedTiers({ services }: ImportPlan): ReadonlyMap<string, string> {
  return new Map(
    services.flatMap((service) =>
      service.tier === undefined ? [] : [[portInFamily(service), service.tier] as const],
    ),
  );
}
