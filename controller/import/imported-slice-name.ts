import { createHash } from "node:crypto";
import { namesOf, type ObjectKey } from "../../api/names.ts";

/**
 * The name of an imported slice: import, source cluster, and a hash of the slice's key in the registry. An import's
 * name has no dot, so slices of different clusters have different names.
 */
export function importedSliceName(
  service: ObjectKey,
  cluster: string,
  recorded: ObjectKey,
): string {
  const hash = createHash("sha256").update(recorded).digest("hex").slice(0, 16);
  return `${namesOf(service).name}.${cluster}.${hash}`;
}
