import { fieldAt } from "../../api/parse/fields.ts";
import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { DEPLOYMENTS, STATEFUL_SETS } from "../../common/kubernetes/kinds.ts";
import { metaOf } from "../../common/kubernetes/object-meta.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { ANNOTATION_REPLICAS, type DrilledWorkload } from "./workload.ts";

/** Attempts of a write that another program's write precedes. */
const ATTEMPTS = 5;

/** Scales a workload to nothing, and records on it what it had. */
export function scaleToNothing(on: Cluster, workload: DrilledWorkload): Promise<void> {
  return scale(on, workload, 0, String(workload.replicas));
}

/** Gives a workload its replicas back. */
export function scaleBack(on: Cluster, workload: DrilledWorkload): Promise<void> {
  return scale(on, workload, workload.replicas, null);
}

async function scale(
  { objects, context }: Cluster,
  { kind, namespace, name }: DrilledWorkload,
  replicas: number,
  record: string | null,
): Promise<void> {
  const resource = kind === "Deployment" ? DEPLOYMENTS : STATEFUL_SETS;
  const annotations = { [ANNOTATION_REPLICAS]: record };
  for (let attempt = 1; ; attempt++) {
    const live = await objects.get(resource, { namespace, name });
    const seen = live && metaOf(live.object);
    if (seen === undefined)
      throw new ApiFault("absent", `${context}: ${kind} ${namespace}/${name} is gone`);
    if (fieldAt(live?.object, "spec", "replicas") === replicas && record !== null) return;
    try {
      const patch = { metadata: { annotations }, spec: { replicas } };
      await objects.patch(resource, { namespace, name }, patch, seen);
      return;
    } catch (thrown) {
      const isConflict = thrown instanceof ApiFault && thrown.reason === "write-conflict";
      if (!isConflict || attempt === ATTEMPTS) throw thrown;
    }
  }
}
