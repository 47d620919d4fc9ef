import { overlaps } from "../../api/cidr.ts";
import { type Environment, readCommandLine } from "../../common/config/command-line.ts";
import type { AboutItself, Host, Program } from "../../common/config/flag.ts";
import { isUsage, type Usage, type UsageFault, usage } from "../../common/config/usage.ts";
import { FLAGS, type FlagValues } from "./flags.ts";

/** Set by the kubelet in each container. */
const IN_CLUSTER = "KUBERNETES_SERVICE_HOST";

/** Contradictions between valid flags. PURE. */
function contradictions(command: Command, values: FlagValues, env: Environment): UsageFault[] {
  if (command !== "run") return [];
  return [...noApiServer(values, env), ...registry(values), ...podsInClusterSet(values)];
}

/** Warnings about valid flags. PURE. */
function doubts(command: Command, values: FlagValues): string[] {
  if (command !== "run") return [];
  return overlaps(values.clusterSetCidrs, values.serviceCidrs).map(
    ([vips, services]) =>
      `--clusterset-cidr ${vips.text} overlaps --service-cidrs ${services.text}: no VIP is allocated there`,
  );
}

function noApiServer({ kubeconfig }: FlagValues, env: Environment): UsageFault[] {
  if (kubeconfig !== undefined || (env[IN_CLUSTER] ?? "") !== "") return [];
  return [{ where: "--kubeconfig", expected: "is missing; outside of a pod, run needs it" }];
}

function registry({ registry: kind, hubKubeconfig }: FlagValues): UsageFault[] {
  if (kind === "hub" && hubKubeconfig === undefined) {
    return [{ where: "--hub-kubeconfig", expected: "is missing; --registry hub needs it" }];
  }
  if (kind === "mesh" && hubKubeconfig !== undefined) {
    const expected = "contradicts --registry mesh, which has no hub";
    return [{ where: "--hub-kubeconfig", value: hubKubeconfig, expected }];
  }
  return [];
}

/** The guard rejects all traffic to the ClusterSet CIDR that matches no service, so these pods would be unreachable. */
function podsInClusterSet(values: FlagValues): UsageFault[] {
  return overlaps(values.clusterSetCidrs, values.podCidrs).map(([vips, pods]) => ({
    where: "--clusterset-cidr",
    value: vips.text,
    expected: `overlaps --pod-cidrs ${pods.text}; these pods would be unreachable`,
  }));
}

/** The configuration, frozen: the values of all flags, which `flags.ts` explains. */
export interface ControllerConfig extends FlagValues {
  readonly command: Command;
  /** Warnings for the log. */
  readonly warnings: readonly string[];
}

/** Parses the command line (without the program's name) and the environment. Help and version always succeed. PURE. */
export function parseConfig(
  argv: readonly string[],
  env: Environment,
  host: Host,
): ControllerConfig | Usage {
  const given = readCommandLine(CONTROLLER, argv, env, host);
  if (isUsage(given)) return given;
  const { command, values } = given;
  const contradicted = contradictions(command, values, env);
  if (contradicted.length > 0) return usage(...contradicted);
  const warnings = [...given.warnings, ...doubts(command, values)];
  return Object.freeze({ command, ...values, warnings });
}

/** The commands. */
export type Command = "run" | AboutItself;

/** The command line of the controller. */
export const CONTROLLER: Program<Command, typeof FLAGS> = {
  name: "clusterset-controller",
  about: [
    "clusterset-controller keeps exports, imports and ClusterSetIPs in sync between the clusters of a clusterset.",
  ],
  commands: {
    run: "Publish this cluster's exports and import those of its peers (the default)",
    version: "Print the version",
    help: "Print this help",
  },
  flags: FLAGS,
  examples: [
    "run --kubeconfig ~/.kube/config --cluster-id c1 --clusterset-id prod --region eu-west",
    "run --cluster-id c1 --registry hub --hub-kubeconfig /etc/clusterset/hub.kubeconfig",
  ],
};
