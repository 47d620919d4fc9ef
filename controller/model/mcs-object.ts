import { MCS_GROUP, MCS_VERSIONS } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Manifest } from "./manifest.ts";

/** An object of the multi-cluster API by its name, with labels and annotations where there are any. */
export function mcsObject(
  kind: "ServiceExport" | "ServiceImport",
  key: ObjectKey,
  labels: Readonly<Record<string, string>> = {},
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  const [namespace = "", name = ""] = key.split("/");
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
