import { ApiFault } from "../../common/kubernetes/api-fault.ts";
import { isOlder, type ObjectMeta } from "../../common/kubernetes/object-meta.ts";
import type { ApiResource, ObjectName } from "../../common/kubernetes/resource.ts";
import type { ApiWriter } from "../../common/kubernetes/writer.ts";
import type { Seen } from "../stores/fact-store.ts";
import type { Following } from "../stores/informer.ts";

/** Stores the answers to the controller's requests. */
export type Answers = Pick<Following, "erased" | "rewound" | "wrote">;

/**
 * After a write failed because the object is not as it was seen: reads it and stores its present state. Returns what was
 * read, undefined if nothing was or the object does not exist.
 */
export async function refresh(
  thrown: unknown,
  writer: Pick<ApiWriter, "get">,
  resource: ApiResource,
  name: ObjectName,
  seen: Seen | undefined,
  answers: Answers | undefined,
): Promise<ObjectMeta | undefined> {
  if (!(thrown instanceof ApiFault)) return undefined;
  if (thrown.reason !== "write-conflict" && thrown.reason !== "absent") return undefined;
  const found = await writer.get(resource, name);
  // A watch sends no event for an object that is older than before.
  if (isOlder(found?.meta.resourceVersion ?? "", seen?.resourceVersion ?? "")) answers?.rewound();
  else if (found !== undefined) answers?.wrote(found.object);
  else if (seen !== undefined) answers?.erased(seen, "missing");
  return found?.meta;
}
