import type { SliceFact } from "../model/facts.ts";
import { destination, type VirtualService } from "./virtual-service.ts";

/** All endpoints that slices list for the port of `service`: of any condition and tier, in active and inactive slices. */
export function listedEndpoints(
  service: VirtualService,
  slices: readonly SliceFact[],
): readonly string[] {
  const found = new Set<string>();
  for (const slice of slices) {
    if (slice.family !== service.family) continue;
    const target = slice.ports.find(
      ({ name, protocol }) => name === service.portName && protocol === service.protocol,
    );
    if (target === undefined) continue;
    for (const { address } of slice.endpoints) found.add(destination(address, target.port));
  }
  return [...found];
}
