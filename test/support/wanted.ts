import type { VirtualService } from "../../agent/plan/virtual-service.ts";
import type { Wanted } from "../../agent/sync/wanted.ts";
import type { ObjectKey } from "../../api/names.ts";

/** What a map says, now and whenever it is asked. */
export function wantedOf(services: ReadonlyMap<ObjectKey, readonly VirtualService[]>): Wanted {
  return {
    keys: () => services.keys(),
    services: (key) => {
      const now = services.get(key) ?? [];
      return () => now;
    },
  };
}
