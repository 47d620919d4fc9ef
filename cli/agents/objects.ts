import { type AgentConfig, parseConfig } from "../../agent/config/config.ts";
import { queries } from "../../agent/sources/kubernetes/queries.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { isUsage, type Usage } from "../../common/config/usage.ts";
import { NODES, queryOf } from "../../common/kubernetes/kinds.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import type { FactObjects } from "./facts.ts";

/** The configuration of a cluster's agents, as its DaemonSet states it. */
export interface AgentSettings {
  readonly config: AgentConfig;
  /** Variables whose value the DaemonSet does not state: they come from another object. */
  readonly unknown: readonly string[];
  readonly image?: string;
  /** Tag of the image; absent if it has none. */
  readonly version?: string;
}

/** On each node its own; no plan depends on the second. */
const OF_EACH_NODE = ["CLUSTERSET_AGENT_NODE_NAME", "CLUSTERSET_AGENT_HTTP_ADDRESS"];
/** A value that contains that of another variable, which may be the node's. */
const REFERENCE = /\$\([\w.-]+\)/;
/** As in a pod, where the API server's objects are read. */
const IN_CLUSTER = { KUBERNETES_SERVICE_HOST: "kubernetes.default" };

/** The settings of the agent's DaemonSet; without one, the defaults. A usage error if the agent would report one. PURE. */
export function agentSettings(daemonSets: readonly unknown[]): AgentSettings | Usage {
  const container = listAt(daemonSets[0], "spec", "template", "spec", "containers").find(
    (one) => textField(one, "name") === "agent",
  );
  const env = new Map<string, string>();
  const unknown: string[] = [];
  for (const variable of listAt(container, "env")) {
    const name = textField(variable, "name") ?? "";
    const value = textField(variable, "value");
    if (!name.startsWith("CLUSTERSET_AGENT_") || OF_EACH_NODE.includes(name)) continue;
    if (value !== undefined && !REFERENCE.test(value)) env.set(name, value);
    else unknown.push(name);
  }
  const argv = listAt(container, "args").filter((word) => typeof word === "string");
  const host = { name: "node", terminal: false };
  const config = parseConfig(argv, { ...Object.fromEntries(env), ...IN_CLUSTER }, host);
  if (isUsage(config)) return config;
  const image = textField(container, "image");
  const [, version] = /:([^:/]+)$/.exec(image?.replace(/@.*/, "") ?? "") ?? [];
  return {
    ...{ config, unknown },
    ...(image !== undefined && { image }),
    ...(version !== undefined && { version }),
  };
}

function listAt(from: unknown, ...path: readonly string[]): readonly unknown[] {
  const list = fieldAt(from, ...path);
  return Array.isArray(list) ? list : [];
}

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
