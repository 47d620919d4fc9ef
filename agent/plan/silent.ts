import { admits } from "../../api/health.ts";
import type { ImportFact, NodeFact } from "../model/facts.ts";
import type { Silence } from "../model/silence.ts";

/** What is known of an endpoint that does not answer. */
export interface Silent {
  /** `cluster`: no endpoint of its cluster answers. */
  readonly scope: "endpoint" | "cluster";
  /** When it was found; 0 for a cluster. */
  readonly since: number;
}

/**
 * Whether an endpoint does not answer, for an import that takes notice of that; undefined if it does, or if nothing is known. UDP and
 * SCTP have no answer of their own: they follow TCP on the same address, whatever its port.
 */
export function silentOf(
  endpoint: { readonly address: string; readonly port: number; readonly cluster?: string },
  protocol: string,
  { endpoints, clusters }: Silence,
  { health }: Pick<ImportFact, "health">,
  node: Pick<NodeFact, "cluster" | "health">,
): Silent | undefined {
  const { address, port, cluster } = endpoint;
  if (!admits(health ?? node.health, cluster, node.cluster)) return undefined;
  if (clusters.has(cluster ?? "")) return { scope: "cluster", since: 0 };
  const ports = endpoints.get(address);
  if (ports === undefined) return undefined;
  const since = protocol === "TCP" ? ports.get(port) : Math.min(...ports.values());
  return since === undefined ? undefined : { scope: "endpoint", since };
}
