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

/** Runs a function on all clusters at the same time. It prints the reason for each cluster that fails, and returns the results of the others. `label` is printed before each reason. */
export async function inEachCluster<Result>(
  clusters: readonly Cluster[],
  { note, signal }: Terminal,
  run: (cluster: Cluster) => Promise<Result>,
  label = "error: ",
): Promise<Found<Result>> {
  const outcomes = await Promise.all(
    clusters.map(async (cluster) => {
      try {
        return { result: await run(cluster) };
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof ApiFault)) throw thrown;
        const { context } = cluster;
        // Of a ClusterFault, the detail has no context; other messages may begin with it.
        const message = thrown instanceof ClusterFault ? thrown.detail : thrown.message;
        const begin = `${context}: `;
        return { cluster, why: message.startsWith(begin) ? message.slice(begin.length) : message };
      }
    }),
  );
  const results: Result[] = [];
  const failed: Cluster[] = [];
  for (const outcome of outcomes) {
    if ("result" in outcome) results.push(outcome.result);
    else {
      failed.push(outcome.cluster);
      note(printable`${label}${outcome.cluster.context}: ${outcome.why}\n`);
    }
  }
  return { results, failed };
}
