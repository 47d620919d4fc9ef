import assert from "node:assert/strict";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import type { Clusters } from "../cluster/clusters.ts";

/** All rules of a node by its name: of both flavours and families of iptables, in no order. */
export type NodeRules = ReadonlyMap<string, ReadonlySet<string>>;

const FLAVOURS = ["iptables-nft", "iptables-legacy", "ip6tables-nft", "ip6tables-legacy"];
const SAVES = FLAVOURS.map((tool) => `${tool}-save`);

/** A rule without counters, and without what names one pod: CoreDNS is another one after it was restarted. */
function lasting(rule: string): string {
  return rule
    .replace(/ \[\d+:\d+\]$/, "")
    .replaceAll(/KUBE-SEP-\w+/g, "KUBE-SEP")
    .replaceAll(/\b10\.[12]\.\d+\.\d+\b/g, "POD");
}

/**
 * The rules of all nodes, without what changes by itself: the time that is written above, counters, the order in which
 * kube-proxy has Services, and which pods CoreDNS has.
 */
export async function rulesOfNodes(clusters: Clusters): Promise<NodeRules> {
  const nodes = clusters.all.flatMap((cluster) => cluster.nodes);
  const entries = nodes.map(async (node): Promise<[string, Set<string>]> => {
    const tables = SAVES.map(async (save) => {
      let table = "";
      const lines = (await node.host.exec([save])).split("\n");
      return lines.flatMap((line) => {
        if (line.startsWith("*")) table = line;
        return /^[:-]/.test(line) ? [`${save} ${table} ${lasting(line)}`] : [];
      });
    });
    return [node.name, new Set((await Promise.all(tables)).flat())];
  });
  return new Map(await Promise.all(entries));
}

/** What is there now and was not before, and the other way round; nothing, if they are the same. */
export function differences(before: NodeRules, now: NodeRules): string[] {
  return [...before].flatMap(([node, old]) => {
    const rules = now.get(node) ?? new Set();
    return [
      ...[...rules].filter((rule) => !old.has(rule)).map((rule) => `${node}: new: ${rule}`),
      ...[...old].filter((rule) => !rules.has(rule)).map((rule) => `${node}: gone: ${rule}`),
    ];
  });
}

/** How the agent's process looks to a node. */
export const AGENT_PROGRAM = "clusterset-agent.mjs";

/** What the agent of a node has done since it was started. */
export interface AgentDeeds {
  /** Of its process, seconds of the time of day: another one is another process. */
  readonly started: number;
  /** Its version. */
  readonly release: string;
  readonly written: number;
  readonly deleted: number;
  /** Changes of others that it has undone. */
  readonly repaired: number;
}

/** Asks a node's agent. Throws if it does not answer, or has not brought the kernel in step. */
export async function deedsOf(node: ClusterNode): Promise<AgentDeeds> {
  await pageOf(node, "/readyz");
  const metrics = await pageOf(node, "/metrics");
  return {
    release: /^clusterset_agent_build_info\{.*version="([^"]+)"/m.exec(metrics)?.[1] ?? "",
    started: sumOf(metrics, "process_start_time_seconds"),
    written: sumOf(metrics, "clusterset_agent_kernel_objects_written_total"),
    deleted: sumOf(metrics, "clusterset_agent_kernel_objects_deleted_total"),
    repaired: sumOf(metrics, "clusterset_agent_drift_repairs_total"),
  };
}

/** A page of a node's agent. Throws unless its status is 200. */
export function pageOf({ host }: ClusterNode, path: string): Promise<string> {
  return host.exec(["curl", "-sf", `127.0.0.1:10269${path}`]);
}

/** Over all labels; nothing if it was never counted. Throws if there is no such metric. */
function sumOf(metrics: string, name: string): number {
  assert.ok(metrics.includes(`# TYPE ${name} `), `no metric ${name}`);
  const lines = metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"));
  return lines.reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Those of a node's rules that are about one import, such as `demo/serve`. */
export async function rulesOfImport(node: ClusterNode, key: string): Promise<string> {
  const lines = (await rulesOfAgent(node)).split("\n");
  return lines.filter((line) => line.includes(`"${key}`)).join("\n");
}

/** The agent's rules of a node, as they are in its tables, without counters. */
export async function rulesOfAgent(node: ClusterNode): Promise<string> {
  return (await ownRules(node)).replaceAll(/ \[\d+:\d+\]$/gm, "");
}

/** Kinds of which we have objects, where an overlay, a registry or DNS was installed. */
const KINDS = "crds,clusterroles,clusterrolebindings,namespaces,roles,rolebindings";

const SLICES =
  "endpointslice.kubernetes.io/managed-by in (clusterset-controller,cluster-ip-failover.clusterset-proxy.io)";
const ADDRESSES = "ipaddress.kubernetes.io/managed-by=clusterset-controller";

const OURS = /clusterset|multicluster|about\.k8s\.io|CSP-|^endpointslice|^ipaddress/;

/** What of ours is left in a cluster: objects, a block of the Corefile, rules on nodes. Nothing, if it was uninstalled. */
export async function tracesIn(clusters: Clusters, id: string): Promise<string[]> {
  const said = await Promise.all([
    clusters.kubectl(id, ["get", KINDS, "-A", "-o", "name"]),
    clusters.kubectl(id, ["get", "endpointslices", "-A", "-l", SLICES, "-o", "name"]),
    clusters.kubectl(id, ["get", "ipaddresses", "-l", ADDRESSES, "-o", "name"]),
    clusters.kubectl(id, ["-n", "kube-system", "get", "configmap", "coredns", "-o", "yaml"]),
    ...clusters.cluster(id).nodes.map(ownRules),
  ]);
  const lines = said.flatMap((text) => text.split("\n"));
  return lines.filter((line) => OURS.test(line));
}

/** All lines of iptables-save on a node that name a chain of ours, of both flavours and families. */
export async function ownRules({ host }: ClusterNode): Promise<string> {
  const all = await Promise.all(SAVES.map((save) => host.exec([save])));
  const lines = all.flatMap((text) => text.split("\n")).filter((line) => line.includes("CSP-"));
  return lines.map((line) => `${line}\n`).join("");
}
