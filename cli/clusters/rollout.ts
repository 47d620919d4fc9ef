import { fieldAt } from "../../api/parse/fields.ts";
import { DAEMON_SETS, DEPLOYMENTS } from "../../common/kubernetes/kinds.ts";
import type { Cluster } from "./cluster.ts";
import { until } from "./until.ts";

/** A workload. */
export interface Workload {
  readonly kind: "DaemonSet" | "Deployment";
  readonly namespace: string;
  readonly name: string;
}

/** Waits until all pods of a workload run its present template and are available. Rejects with an ApiFault. */
export function untilRolledOut(
  on: Cluster,
  workload: Workload,
  within: number,
  signal: AbortSignal,
): Promise<void> {
  const resource = workload.kind === "DaemonSet" ? DAEMON_SETS : DEPLOYMENTS;
  return until(within, signal, async () => {
    const { namespace, name, kind } = workload;
    const live = await on.objects.get(resource, { namespace, name });
    const { pods, updated, available, isSeen } = progressOf(live?.object, kind);
    if (isSeen && updated === pods && available === pods) return { found: undefined };
    const title = `${on.context}: ${namespace}/${kind.toLowerCase()}/${name}`;
    return {
      missing: `${title}: ${Math.min(updated, available)} of ${pods} pods are up to date and available`,
    };
  });
}

function progressOf(object: unknown, kind: Workload["kind"]) {
  const number = (...path: readonly string[]) => Number(fieldAt(object, ...path) ?? 0);
  const isSeen =
    object !== undefined &&
    number("status", "observedGeneration") >= number("metadata", "generation");
  return kind === "DaemonSet"
    ? {
        isSeen,
        pods: number("status", "desiredNumberScheduled"),
        updated: number("status", "updatedNumberScheduled"),
        available: number("status", "numberAvailable"),
      }
    : {
        isSeen,
        pods: Math.max(number("spec", "replicas"), number("status", "replicas")),
        updated: number("status", "updatedReplicas"),
        available: number("status", "availableReplicas"),
      };
}
