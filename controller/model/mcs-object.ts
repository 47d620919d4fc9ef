import { MCS_GROUP, MCS_VERSIONS } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Manifest } from "./manifest.ts";

/** A ServiceExport or ServiceImport; empty labels and annotations are left out. */
export function mcsObject(
  kind: "ServiceExport" | "ServiceImport",
  key: ObjectKey,
  labels: Readonly<Record<string, string>> = {},
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  const { namespace, name } = namesOf(key);
  return {
    apiVersion: `${MCS_GROUP}/${MCS_VERSIONS[0]}`,
    kind,
    metadata: {
      name,
      namespace,
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
  };
}
