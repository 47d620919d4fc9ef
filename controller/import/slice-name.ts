import { createHash } from "node:crypto";
import type { ObjectKey } from "../../api/names.ts";

/**
 * The name of an imported slice: the import, the source cluster, and a hash of the key that the slice has in its
 * cluster's registry. An import's name holds no dot, so no cluster can come by the name of another's slice.
 */
export function sliceName(service: ObjectKey, cluster: string, recorded: ObjectKey): string {
  const name = service.slice(service.indexOf("/") + 1);
  const hash = createHash("sha256").update(recorded).digest("hex").slice(0, 16);
  return `${name}.${cluster}.${hash}`;
}
