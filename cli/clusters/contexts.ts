import { systemClock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import {
  contextNames,
  kubeconfigFiles,
  type MergedKubeconfig,
  mergedKubeconfig,
} from "../../common/kubernetes/kubeconfig-files.ts";
import { createLogger } from "../../common/log.ts";
import { printableLines } from "../output/printable.ts";
import type { Terminal } from "../terminal.ts";
import { type Cluster, openCluster } from "./cluster.ts";

/** Flags that name clusters. */
export interface ClusterFlags {
  readonly kubeconfig?: string;
  /** Contexts, in order; absent: the current one. */
  readonly context?: readonly string[];
  readonly allContexts?: boolean;
}

/** Opens the clusters of the flags, runs a command on them, and closes them. Rejects with CSP_KUBECONFIG. */
export async function withClusters<Result>(
  flags: ClusterFlags,
  terminal: Terminal,
  run: (clusters: readonly Cluster[]) => Promise<Result>,
): Promise<Result> {
  const files = kubeconfigFiles(flags.kubeconfig, terminal.env.KUBECONFIG, terminal.home);
  const sink = { write: (line: string) => terminal.note(printableLines(line)) };
  const log = createLogger({ level: "warn", format: "pretty" }, sink);
  const { signal } = terminal;
  const clusters: Cluster[] = [];
  try {
    for (const context of chosen(mergedKubeconfig({ files }), flags)) {
      const kubeconfig = { files, context };
      clusters.push(await openCluster({ kubeconfig, clock: systemClock, log, signal }));
    }
    return await run(clusters);
  } finally {
    await Promise.all(clusters.map((cluster) => cluster.close()));
  }
}

/** The contexts that flags name. */
function chosen(config: MergedKubeconfig, flags: ClusterFlags): readonly string[] {
  if (flags.allContexts === true) return contextNames(config);
  if (flags.context !== undefined) return [...new Set(flags.context)];
  const current = config["current-context"];
  if (current === undefined)
    throw new CodedError("CSP_KUBECONFIG", "No current context: set one, or use --context");
  return [current];
}
