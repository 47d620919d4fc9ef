import { queries } from "../../agent/sources/kubernetes/queries.ts";
import { NODES, queryOf } from "../../common/kubernetes/kinds.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import type { FactObjects } from "./facts.ts";

/** What the agents of a cluster read, as objects of its API server, for all nodes. */
export interface AgentObjects extends FactObjects {
  /** DaemonSets of the agent: their environment is its configuration. */
  readonly daemonSets: readonly unknown[];
}

const AGENTS: ResourceQuery = {
  group: "apps",
  versions: ["v1"],
  resource: "daemonsets",
  namespace: INSTALL_NAMESPACE,
  labelSelector: "app.kubernetes.io/name=clusterset-agent",
};

/** Lists everything that agents decide by; of one namespace, imports and slices of it. Rejects with an ApiFault. */
export async function readAgentObjects(
  cluster: Cluster,
  namespace?: string,
): Promise<AgentObjects> {
  const within = namespace === undefined ? {} : { namespace };
  // The field selector of nodes is another one.
  const { serviceimports, endpointslices, clusterproperties, ipaddresses } = queries("any");
  const [imports, slices, properties, holders, nodes, daemonSets] = await Promise.all(
    [
      ...[serviceimports, endpointslices].map((query) => ({ ...query, ...within })),
      ...[clusterproperties, ipaddresses, queryOf(NODES), AGENTS],
    ].map((query) => cluster.list(query)),
  );
  return {
    imports: imports ?? [],
    slices: slices ?? [],
    properties: properties ?? [],
    holders: holders ?? [],
    nodes: nodes ?? [],
    daemonSets: daemonSets ?? [],
  };
}
