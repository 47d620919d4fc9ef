import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import type { ImportView } from "../model/model.ts";
import { originOf } from "./origin.ts";
import { isSilent } from "./silent.ts";
import { destination, type VirtualService } from "./virtual-service.ts";

/** Whether an endpoint of a slice is dead although the slice lists it. */
export type IsDead = (slice: SliceFact, address: string, port: number) => boolean;

/**
 * Two witnesses show that a TCP endpoint is dead: it does not answer this node, and its cluster is out of rotation (`serving`): its
 * Lease has expired, or an operator has drained it. A dead cluster cannot delete its slices. One witness is not enough: an API server that is away says nothing
 * about pods, and an endpoint that takes no new connection may serve old ones.
 */
export function deadBy(
  { silence }: Pick<ImportView, "silence">,
  fact: ImportFact,
  node: NodeFact,
): IsDead {
  return (slice, address, port) => {
    const { cluster } = originOf(slice, node);
    const listener = { address, tcpPorts: [port], ...(cluster !== undefined && { cluster }) };
    return silence !== undefined && isSilent(listener, silence, fact, node);
  };
}

/** All endpoints that slices list for the port of `service`, without dead ones: of any condition and tier, in active and inactive slices. */
export function listedEndpoints(
  service: VirtualService,
  slices: readonly SliceFact[],
  isDead: IsDead,
): readonly string[] {
  const found = new Set<string>();
  for (const slice of slices) {
    if (slice.family !== service.family) continue;
    const target = slice.ports.find(
      ({ name, protocol }) => name === service.portName && protocol === service.protocol,
    );
    if (target === undefined) continue;
    for (const { address, condition } of slice.endpoints) {
      if (condition === "serving" && isDead(slice, address, target.port)) continue;
      found.add(destination(address, target.port));
    }
  }
  return [...found];
}
