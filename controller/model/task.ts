import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";

/** What a reconcile does for a name: publish it, import it, write its ServiceExport's conditions, let its Service's ClusterIP fail over, write the ClusterProperty of this name, or change the startup taint of the Node of this name. */
export const TASK_KINDS = ["export", "import", "status", "failover", "property", "node"] as const;
/** One of `TASK_KINDS`. */
export type TaskKind = (typeof TASK_KINDS)[number];

/** The key of a task in the work queue. A ClusterProperty and a Node have an empty namespace. */
export type Task = `${TaskKind} ${ObjectKey}`;

/**
 * Adds a task to the work queue: what it depends on may have changed. `source`: the cluster that changed it, which takes
 * turns with the others; absent: the local one.
 */
export type Dirty = (kind: TaskKind, key: ObjectKey, source?: string) => void;

/** The parts of a task's key. */
export function partsOf(task: Task): { readonly kind: TaskKind; readonly key: ObjectKey } {
  const [word, name = ""] = task.split(" ");
  const kind = TASK_KINDS.find((one) => one === word) ?? "import";
  const { namespace, name: rest } = namesOf(name);
  return { kind, key: objectKey(namespace, rest) };
}
