import type { Command } from "commander";
import type { Cluster } from "../clusters/cluster.ts";
import { withClusters } from "../clusters/contexts.ts";
import type { OpenMember } from "../clusters/handover.ts";
import { withConnectionFlags } from "../command-line.ts";
import type { ExitCode } from "../exit-code.ts";
import type { Member } from "../install/members.ts";
import type { Terminal } from "../terminal.ts";

/** Flags of commands that write in all clusters of a clusterset. */
export interface ClustersetFlags {
  readonly hub?: string;
  readonly yes?: boolean;
  readonly kubeconfig?: string;
  /** Milliseconds. */
  readonly requestTimeout?: number;
}

/** The clusters that such a command names. */
export interface NamedClusters {
  readonly members: readonly Cluster[];
  readonly hub?: Cluster;
}

/** Adds the contexts, as arguments, and `ClustersetFlags`. */
export function withClustersetFlags(
  command: Command,
  contexts = "contexts of the kubeconfig, one for each cluster",
  hub = "the hub, which holds the registries; default: a mesh",
): Command {
  command
    .argument("<contexts...>", contexts)
    .option("--hub <context>", hub)
    .option("--yes", "do not ask");
  return withConnectionFlags(command);
}

/** Opens the clusters, runs a command on them, and closes them. Rejects with CSP_KUBECONFIG. */
export function withNamedClusters(
  contexts: readonly string[],
  { hub, kubeconfig, requestTimeout }: ClustersetFlags,
  terminal: Terminal,
  run: (clusters: NamedClusters) => Promise<ExitCode>,
): Promise<ExitCode> {
  const named = new Set(contexts);
  const files = {
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(requestTimeout !== undefined && { requestTimeout }),
  };
  const all = [...named, ...(hub === undefined ? [] : [hub])];
  return withClusters({ ...files, contexts: all }, terminal, (clusters) => {
    const onHub = clusters.find((one) => one.context === hub);
    return run({
      members: clusters.filter((one) => named.has(one.context)),
      ...(onHub !== undefined && { hub: onHub }),
    });
  });
}

/** Members with the clusters of their contexts. */
export function openMembers(
  members: readonly Member[],
  clusters: readonly Cluster[],
): OpenMember[] {
  return members.flatMap((member): OpenMember[] => {
    const on = clusters.find(({ context }) => context === member.context);
    return on === undefined ? [] : [{ ...member, on }];
  });
}
