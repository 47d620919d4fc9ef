import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { ClusterFault } from "../clusters/cluster-fault.ts";
import { printable } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";

/** What was found in those clusters that answered. */
export interface Found<Result> {
  /** In the order of the clusters. */
  readonly results: readonly Result[];
  /** Clusters that failed, which was said. */
  readonly failed: readonly Cluster[];
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
  const failed: Cluster[] = [];
  for (const cluster of clusters) {
    const outcome = outcomes.get(cluster);
    if (outcome === undefined || "result" in outcome) continue;
    failed.push(cluster);
    note(printable`${label}${cluster.context}: ${outcome.why}\n`);
  }
  return { results, failed };
}

/** The reason for a fault of a cluster, to print behind its context. PURE. */
export function whyOf({ context }: Cluster, fault: ApiFault): string {
  // Of a ClusterFault, the detail has no context; other messages may begin with it.
  const message = fault instanceof ClusterFault ? fault.detail : fault.message;
  const begin = `${context}: `;
  return message.startsWith(begin) ? message.slice(begin.length) : message;
}
