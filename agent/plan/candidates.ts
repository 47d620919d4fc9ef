import type { ObjectKey } from "../../api/names.ts";
import type { Origin } from "../../api/tiers/cluster-selectors.ts";
import { type Tiers, tierIndex } from "../../api/tiers/tiers.ts";
import type {
  EndpointCondition,
  EndpointFact,
  ImportFact,
  NodeFact,
  Port,
  SliceFact,
} from "../model/facts.ts";
import type { Silence, Silent } from "../model/silence.ts";
import { originOf } from "./origin.ts";
import { silenceOf, tcpPortsOf } from "./silent.ts";

/** An endpoint that listens on a port of an import, with all inputs of `choose`. */
export interface Candidate {
  readonly slice: ObjectKey;
  readonly address: string;
  readonly port: number;
  readonly condition: EndpointCondition;
  readonly origin: Origin;
  /** Index of its tier: 0 is the nearest. */
  readonly tier: number;
  /** Present if its tier gets no traffic. */
  readonly walled?: true;
  /** True if it certainly runs on this node. */
  readonly onThisNode: boolean;
  /** True if it certainly runs in this node's zone. */
  readonly inThisZone: boolean;
  /** Absent if it answers. */
  readonly silent?: Silent;
  /** Present if its cluster returns, and this node does not use it as usual yet. */
  readonly returning?: true;
}

/** The endpoints of `slices`, all of one family, that listen on `port`, and the slices that do not expose it. */
export function candidatesOf(
  port: Port,
  slices: readonly SliceFact[],
  tiers: Tiers,
  node: NodeFact,
  silence?: { readonly of: Silence; readonly to: Pick<ImportFact, "key" | "health"> },
): { candidates: Candidate[]; notExposing: SliceFact[] } {
  const candidates: Candidate[] = [];
  const notExposing: SliceFact[] = [];
  for (const slice of slices) {
    const target = slice.ports.find((p) => p.name === port.name && p.protocol === port.protocol);
    if (target === undefined) {
      notExposing.push(slice);
      continue;
    }
    const origin = originOf(slice, node);
    const tier = tierIndex(origin, tiers);
    const tcpPorts = silence ? tcpPortsOf(target, slice) : [];
    for (const endpoint of slice.endpoints) {
      const listener = { address: endpoint.address, tcpPorts, ...origin };
      const silent = silence && silenceOf(listener, silence.of, silence.to, node);
      candidates.push({
        slice: slice.key,
        address: endpoint.address,
        port: target.port,
        condition: shiftedCondition(endpoint.condition, slice),
        ...(slice.waits && slice.shift?.direction === "returning" && { returning: true }),
        origin,
        tier,
        ...(tiers[tier]?.walled && { walled: true }),
        ...place(endpoint, origin, node),
        ...(silent && { silent }),
      });
    }
  }
  return { candidates, notExposing };
}

/** Where an endpoint certainly runs. Node names are unique within a cluster, zones within a region. */
function place(endpoint: EndpointFact, origin: Origin, node: NodeFact) {
  const mine = origin.cluster !== undefined && origin.cluster === node.cluster;
  const onThisNode = mine && endpoint.nodeName !== undefined && endpoint.nodeName === node.name;
  const sameRegion = mine || (origin.region !== undefined && origin.region === node.region);
  const inThisZone = sameRegion && endpoint.zone !== undefined && endpoint.zone === node.zone;
  return { onThisNode, inThisZone };
}

/** The condition of an endpoint as this node uses it: while it waits, the one from before the shift of its slice. PURE. */
function shiftedCondition(
  condition: EndpointCondition,
  { shift, waits }: Pick<SliceFact, "shift" | "waits">,
): EndpointCondition {
  if (waits === undefined || shift === undefined) return condition;
  if (shift.direction === "draining") return condition === "serving" ? "ready" : condition;
  return condition === "ready" ? "serving" : condition;
}
