import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { DesiredState } from "../../agent/sync/desired-state.ts";
import type { ObjectKey } from "../../api/names.ts";

/** The desired state that a map holds now. `withoutSlices`: imports that have no slice. `refused`: services whose VIPs flags do not allow. */
export function desiredOf(
  services: ReadonlyMap<ObjectKey, readonly VirtualService[]>,
  withoutSlices: ReadonlySet<ObjectKey> = new Set(),
  refused: ReadonlyMap<ObjectKey, readonly VirtualService[]> = new Map(),
): DesiredState {
  return {
    keys: () => [...services.keys(), ...refused.keys()],
    hasSlices: (key) => (services.has(key) || refused.has(key)) && !withoutSlices.has(key),
    cost: () => 0,
    services: (key) => {
      const now = services.get(key) ?? [];
      return { services: now, again: () => now };
    },
    servicesIfAllowed: (key) => [...(services.get(key) ?? []), ...(refused.get(key) ?? [])],
  };
}
