import { admits } from "../../api/health.ts";
import { namesOf } from "../../api/names.ts";
import type { ImportFact, NodeFact, Port, SliceFact } from "../model/facts.ts";
import type { Silence } from "../model/silence.ts";

/** What is known of an endpoint that does not answer. */
export interface Silent {
  /** `cluster`: no endpoint of its cluster answers. */
  readonly scope: "endpoint" | "cluster";
  /** When it was found; 0 for a cluster. */
  readonly since: number;
}

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

/** Whether an endpoint does not answer, for an import that takes notice of that; undefined if it does, or if nothing is known. PURE. */
export function silentOf(
  endpoint: Listener,
  { endpoints, clusters }: Silence,
  { key, health }: Pick<ImportFact, "key" | "health">,
  node: Pick<NodeFact, "cluster" | "health">,
): Silent | undefined {
  const { address, tcpPorts, cluster } = endpoint;
  if (!admits(health ?? node.health, cluster, node.cluster)) return undefined;
  const except = clusters.get(cluster ?? "");
  if (except !== undefined && except !== namesOf(key).namespace)
    return { scope: "cluster", since: 0 };
  const ports = endpoints.get(address);
  if (ports === undefined) return undefined;
  const found = tcpPorts.flatMap((port) => ports.get(port) ?? []);
  return found.length === 0 ? undefined : { scope: "endpoint", since: Math.min(...found) };
}
