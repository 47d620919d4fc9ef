import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { whyOf } from "../clusters/cluster-fault.ts";
import { readIdentity } from "../clusters/read-facts.ts";
import type { ClusterFacts } from "../install/members.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";

/** What was found in those clusters that answered. */
export interface Found<Result> {
  /** In the order of the clusters. */
  readonly results: readonly Result[];
  /** Clusters that failed, and why, which was printed. */
  readonly failed: readonly { readonly on: Cluster; readonly why: string }[];
}

/** Options of `inEachCluster`. */
interface Options<Result> {
  /** Before each reason. */
  readonly label?: string;
  /** Called with the results so far. Once it is true, no other cluster is waited for, and none that failed is reported. */
  readonly isEnough?: (results: readonly Result[]) => boolean;
}

/** Runs a function on all clusters at the same time. It prints the reason for each cluster that fails, and returns the results of the others. */
export async function inEachCluster<Result>(
  clusters: readonly Cluster[],
  { note, signal }: Terminal,
  run: (cluster: Cluster) => Promise<Result>,
  { label = "error: ", isEnough = () => false }: Options<Result> = {},
): Promise<Found<Result>> {
  const outcomes = new Map<Cluster, { readonly result: Result } | { readonly why: string }>();
  const resultsSoFar = (): Result[] =>
    clusters.flatMap((cluster) => {
      const outcome = outcomes.get(cluster);
      return outcome !== undefined && "result" in outcome ? [outcome.result] : [];
    });
  const enough = Promise.withResolvers<void>();
  const all = clusters.map(async (cluster) => {
    try {
      outcomes.set(cluster, { result: await run(cluster) });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof ApiFault)) throw thrown;
      outcomes.set(cluster, { why: whyOf(cluster, thrown) });
    }
    if (isEnough(resultsSoFar())) enough.resolve();
  });
  await Promise.race([Promise.all(all), enough.promise]);
  const results = resultsSoFar();
  if (isEnough(results)) return { results, failed: [] };
  const failed: { readonly on: Cluster; readonly why: string }[] = [];
  for (const cluster of clusters) {
    const outcome = outcomes.get(cluster);
    if (outcome === undefined || "result" in outcome) continue;
    failed.push({ on: cluster, why: outcome.why });
    note(printable`${label}${cluster.context}: ${outcome.why}\n`);
  }
  return { results, failed };
}

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
