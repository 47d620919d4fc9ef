import { fieldAt, isFields, textField } from "../../api/parse/fields.ts";

/** On a workload: the replicas that it had before a drill, so that they are not lost with the program. */
export const ANNOTATION_REPLICAS = "clusterset-proxy.io/drill-replicas";

/** A Deployment or StatefulSet that a drill scales. */
export interface DrilledWorkload {
  readonly kind: "Deployment" | "StatefulSet";
  readonly namespace: string;
  readonly name: string;
  /** Replicas that it shall have: those before a drill that was interrupted, if there was one. */
  readonly replicas: number;
  readonly isInterrupted: boolean;
}

/** Objects of one namespace. */
export interface NamespaceObjects {
  readonly service: unknown;
  readonly deployments: readonly unknown[];
  readonly statefulSets: readonly unknown[];
  readonly autoscalers: readonly unknown[];
}

/** The workloads whose pods the Service selects; a message if a drill cannot scale them. PURE. */
export function workloadsOf(objects: NamespaceObjects): readonly DrilledWorkload[] | string {
  const selector = fieldAt(objects.service, "spec", "selector");
  if (!isFields(selector) || Object.keys(selector).length === 0)
    return "the Service selects no pods";
  const found = [
    ...objects.deployments.flatMap((one) => workloadOf("Deployment", one, selector)),
    ...objects.statefulSets.flatMap((one) => workloadOf("StatefulSet", one, selector)),
  ];
  if (found.length === 0) return "no Deployment or StatefulSet has pods that the Service selects";
  for (const { kind, name } of found) {
    const autoscaler = objects.autoscalers.find((one) => {
      const target = fieldAt(one, "spec", "scaleTargetRef");
      return textField(target, "kind") === kind && textField(target, "name") === name;
    });
    if (autoscaler === undefined) continue;
    const by = textField(fieldAt(autoscaler, "metadata"), "name") ?? "";
    return `HorizontalPodAutoscaler ${by} scales ${kind} ${name}, and would undo the drill`;
  }
  if (found.every(({ replicas }) => replicas === 0)) return "it is scaled to nothing already";
  return found;
}

function workloadOf(
  kind: DrilledWorkload["kind"],
  object: unknown,
  selector: Readonly<Record<string, unknown>>,
): DrilledWorkload[] {
  const labels = fieldAt(object, "spec", "template", "metadata", "labels");
  const metadata = fieldAt(object, "metadata");
  const [namespace, name] = [textField(metadata, "namespace"), textField(metadata, "name")];
  const isSelected = Object.entries(selector).every(
    ([key, value]) => fieldAt(labels, key) === value,
  );
  if (!isSelected || namespace === undefined || name === undefined) return [];
  const recorded = Number(fieldAt(metadata, "annotations", ANNOTATION_REPLICAS) ?? Number.NaN);
  const isInterrupted = Number.isInteger(recorded) && recorded >= 0;
  const present = Number(fieldAt(object, "spec", "replicas") ?? 1);
  return [{ kind, namespace, name, isInterrupted, replicas: isInterrupted ? recorded : present }];
}
