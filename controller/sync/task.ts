import { type ObjectKey, objectKey } from "../../api/names.ts";

/** What there is to be done about a name: to publish it, to import it, or to tell its exporter. */
export const TASK_KINDS = ["export", "import", "status"] as const;
/** One of `TASK_KINDS`. */
export type TaskKind = (typeof TASK_KINDS)[number];

/** One of the things that are done one at a time, by a key that a work queue knows it by. */
export type Task = `${TaskKind} ${ObjectKey}`;

/** What a task is about. */
export function partsOf(task: Task): { readonly kind: TaskKind; readonly key: ObjectKey } {
  const [word, name = ""] = task.split(" ");
  const [namespace = "", rest = ""] = name.split("/");
  const kind = TASK_KINDS.find((one) => one === word) ?? "import";
  return { kind, key: objectKey(namespace, rest) };
}
