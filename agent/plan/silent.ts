import { admits } from "../../api/health.ts";
import { namesOf } from "../../api/names.ts";
import type { ImportFact, NodeFact, Port, SliceFact } from "../model/facts.ts";
import type { Silence, Silent } from "../model/silence.ts";

/** An endpoint on one port. */
export interface Listener {
  readonly address: string;
  /** The TCP ports whose silence is its own. UDP and SCTP have no answer of their own: they follow TCP on the same address. */
  readonly tcpPorts: readonly number[];
  readonly cluster?: string;
}

/** The TCP ports that `target`, a port of a slice, follows: only those of the slice, because other namespaces may list any port of an address. PURE. */
export function tcpPortsOf(target: Port, { ports }: Pick<SliceFact, "ports">): number[] {
  const followed = target.protocol === "TCP" ? [target] : ports;
  return followed.filter(({ protocol }) => protocol === "TCP").map(({ port }) => port);
}

/** How certain it is that an endpoint does not answer, for an import that takes notice of that; undefined if it answers. PURE. */
export function silenceOf(
  { address, tcpPorts, cluster }: Listener,
  { endpoints, clusters, held }: Silence,
  { key, health }: Pick<ImportFact, "key" | "health">,
  node: Pick<NodeFact, "cluster" | "health">,
): Silent | undefined {
  const scope = health ?? node.health;
  if (!admits(scope, cluster, node.cluster)) return undefined;
  // The own cluster as a whole is left only if that was requested.
  const mayBeWhole = scope === "all" || cluster !== node.cluster;
  const except = mayBeWhole ? clusters.get(cluster ?? "") : undefined;
  if (except !== undefined && except !== namesOf(key).namespace)
    return held.has(cluster ?? "") ? "suspected" : "shown";
  const ports = endpoints.get(address);
  const found = tcpPorts.map((port) => ports?.get(port));
  return found.includes("shown") ? "shown" : found.find((one) => one !== undefined);
}
