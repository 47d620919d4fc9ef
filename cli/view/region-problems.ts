import type { NodeFact } from "../../agent/model/facts.ts";
import { PROPERTY_REGION } from "../../api/keys.ts";
import type { Problem } from "./readings.ts";

/** The regions of nodes, each once. Where flags give a cluster its region, what it publishes does not matter there. PURE. */
export function regionsOf(
  nodes: readonly Pick<NodeFact, "cluster" | "clusterRegions" | "region">[],
): string[] {
  const byLabel = nodes.filter(({ cluster = "", clusterRegions }) => !clusterRegions.has(cluster));
  return [...new Set(byLabel.flatMap(({ region }) => region ?? []))].sort();
}

/**
 * Whether a cluster publishes the region in which its agents are. `join` copies the label of Nodes once: they may have it later, or the
 * manifests were applied by hand. PURE.
 */
export function regionProblems(
  cluster: string,
  published: string | undefined,
  /** Of its agents, each once. */
  regions: readonly string[],
): Problem[] {
  const [first] = regions;
  if (first === undefined || (published !== undefined && regions.includes(published))) return [];
  const [only] = regions.length === 1 ? [first] : ["REGION"];
  const reason = published === undefined ? "region-missing" : "region-differs";
  const detail =
    `Nodes are in ${regions.join(", ")}, the cluster publishes ${published ?? "no region"}: ` +
    `set ClusterProperty ${PROPERTY_REGION} to ${only}, or join again with --region`;
  return [{ object: `Cluster ${cluster}`, severity: "warning", reason, detail }];
}
