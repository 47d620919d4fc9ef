import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { Wanted } from "../../agent/sync/wanted.ts";
import type { ObjectKey } from "../../api/names.ts";

/** What a map says, now and whenever it is asked. `silent`: imports without a slice. */
export function wantedOf(
  services: ReadonlyMap<ObjectKey, readonly VirtualService[]>,
  silent: ReadonlySet<ObjectKey> = new Set(),
): Wanted {
  return {
    keys: () => services.keys(),
    told: (key) => services.has(key) && !silent.has(key),
    services: (key) => {
      const now = services.get(key) ?? [];
      return () => now;
    },
  };
}
