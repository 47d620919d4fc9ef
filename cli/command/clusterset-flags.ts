import type { Command } from "commander";
import { VERSION } from "../../common/version.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { withClusters } from "../clusters/contexts.ts";
import { withConnectionFlags } from "../command-line.ts";
import type { ExitCode } from "../exit-code.ts";
import type { Images } from "../install/manifests.ts";
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
  /** Both. */
  readonly all: readonly Cluster[];
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
      all: clusters,
      members: clusters.filter((one) => named.has(one.context)),
      ...(onHub !== undefined && { hub: onHub }),
    });
  });
}

/** Flags that name images. */
export interface ImageFlags {
  readonly registryPrefix?: string;
  readonly agentImage?: string;
  readonly controllerImage?: string;
}

/** Adds `ImageFlags`. */
export function withImageFlags(command: Command): Command {
  return command
    .option(
      "--registry-prefix <prefix>",
      `such as registry.example.com/team: its images clusterset-agent:${VERSION} and clusterset-controller:${VERSION}`,
    )
    .option("--agent-image <image>", "image of the agent; default: of --registry-prefix")
    .option("--controller-image <image>", "image of the controller; default: of --registry-prefix");
}

/** The images that flags name. Those of no flag are as in the manifests. */
export function imagesOf({ registryPrefix, agentImage, controllerImage }: ImageFlags): Images {
  const prefixed = (name: string) =>
    registryPrefix === undefined
      ? undefined
      : `${registryPrefix.replace(/\/+$/, "")}/${name}:${VERSION}`;
  const agent = agentImage ?? prefixed("clusterset-agent");
  const controller = controllerImage ?? prefixed("clusterset-controller");
  return {
    ...(agent !== undefined && { "clusterset-agent": agent }),
    ...(controller !== undefined && { "clusterset-controller": controller }),
  };
}
