import type { SliceFact } from "../model/facts.ts";
import { destination, type VirtualService } from "./virtual-service.ts";

/**
 * Every endpoint that a slice lists for the port of `service`: ready or not, of any tier, in slices that are in
 * use or out of it. Who is not among them has left: its slice no longer names it, or is gone.
 */
export function listed(service: VirtualService, slices: readonly SliceFact[]): readonly string[] {
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
