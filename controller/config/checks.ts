import { overlaps } from "../../api/cidr.ts";
import type { Environment } from "../../common/config/arguments.ts";
import type { UsageFault } from "../../common/config/usage.ts";
import type { FlagValues } from "./flags.ts";
import type { Command } from "./program.ts";

/** Set by the kubelet in each container. */
const IN_CLUSTER = "KUBERNETES_SERVICE_HOST";

/** Contradictions between valid flags. PURE. */
export function contradictions(
  command: Command,
  values: FlagValues,
  env: Environment,
): UsageFault[] {
  if (command !== "run") return [];
  return [...noApiServer(values, env), ...registry(values), ...podsInClusterSet(values)];
}

/** Warnings about valid flags. PURE. */
export function doubts(command: Command, values: FlagValues): string[] {
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

/** The agents' guard rejects packets to the ClusterSet CIDR, which would include these pods. */
function podsInClusterSet(values: FlagValues): UsageFault[] {
  return overlaps(values.clusterSetCidrs, values.podCidrs).map(([vips, pods]) => ({
    where: "--clusterset-cidr",
    value: vips.text,
    expected: `overlaps --pod-cidrs ${pods.text}; these pods would be unreachable`,
  }));
}
