import { type AgentConfig, parseConfig } from "../../agent/config/config.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { isUsage, type Usage } from "../../common/config/usage.ts";

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
