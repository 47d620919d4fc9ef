import type { Cluster } from "../clusters/cluster.ts";
import { readIdentity } from "../clusters/read-facts.ts";
import type { ClusterFacts } from "../install/facts.ts";
import type { Terminal } from "../terminal.ts";
import { inEachCluster } from "./each-cluster.ts";

/** Before the reason why a context of the kubeconfig that was not named cannot be read: it may be no member. */
export const UNKNOWN = "unknown: ";

/**
 * The clusters by which the others of a clusterset are found among all contexts of a kubeconfig: those with these IDs, or its hub. An ID
 * that several API servers claim is not found: the user has to say which.
 */
export async function findMembers(
  facts: ClusterFacts,
  ids: readonly string[],
  contexts: readonly Cluster[],
  terminal: Terminal,
): Promise<{ readonly members: readonly Cluster[]; readonly hub?: Cluster }> {
  const others = contexts.filter(({ context }) => context !== facts.context);
  if (facts.hub !== undefined) {
    const hub = others.find(({ address }) => address === facts.hub);
    return { members: [], ...(hub !== undefined && { hub }) };
  }
  if (ids.length === 0) return { members: [] };
  const read = async (on: Cluster) => ({ on, identity: await readIdentity(on) });
  const { results } = await inEachCluster(others, terminal, read, { label: UNKNOWN });
  const members = ids.flatMap((cluster) => {
    const found = results.filter(
      ({ identity: { clusterId, clusterSet } }) =>
        clusterId === cluster && clusterSet === facts.clusterSet,
    );
    const servers = new Set(found.map(({ on }) => on.address));
    return servers.size === 1 ? found.slice(0, 1).map(({ on }) => on) : [];
  });
  return { members };
}
