import {
  CONTROLLER_NAME,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import {
  isClusterId,
  isLabelName,
  isSubdomainName,
  type ObjectKey,
  objectKey,
} from "../../api/names.ts";
import { field, fieldAt } from "../../api/parse/fields.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";

/** An imported slice of ours, as far as it tells what we believed of its cluster. */
export interface ImportedSliceFact {
  readonly key: ObjectKey;
  /** The import that it belongs to. */
  readonly import: ObjectKey;
  /** Id of the cluster whose endpoints it holds. */
  readonly cluster: string;
  /** It has an endpoint that is ready. */
  readonly ready: boolean;
  /** It has one that serves and stays, and is not ready: what staleness makes of a ready one. */
  readonly servesOnly: boolean;
}

/** True for an EndpointSlice that we imported, whatever else it is. */
export function isImportedSlice(object: unknown): boolean {
  const labels = fieldAt(object, "metadata", "labels");
  return (
    field(labels, LABEL_MANAGED_BY) === CONTROLLER_NAME &&
    typeof field(labels, LABEL_SERVICE_NAME) === "string"
  );
}

/** Reads a slice that we imported. One whose labels somebody has broken gives no fact, and is ours to delete. */
export function parseImportedSlice(object: unknown): Parsed<ImportedSliceFact> {
  const { complaints, key, namespace } = parseObjectName("EndpointSlice", object, isSubdomainName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined || namespace === undefined) return result;
  const labels = fieldAt(object, "metadata", "labels");
  const name = field(labels, LABEL_SERVICE_NAME);
  const cluster = field(labels, LABEL_SOURCE_CLUSTER);
  if (typeof name !== "string" || !isLabelName(name)) return { ...result, key };
  if (typeof cluster !== "string" || !isClusterId(cluster)) return { ...result, key };
  const endpoints = field(object, "endpoints");
  const conditions = (Array.isArray(endpoints) ? endpoints : []).map((endpoint: unknown) => ({
    ready: fieldAt(endpoint, "conditions", "ready") === true,
    serving: fieldAt(endpoint, "conditions", "serving") === true,
    terminating: fieldAt(endpoint, "conditions", "terminating") === true,
  }));
  const fact: ImportedSliceFact = {
    key,
    import: objectKey(namespace, name),
    cluster,
    ready: conditions.some(({ ready }) => ready),
    servesOnly: conditions.some(
      ({ ready, serving, terminating }) => serving && !ready && !terminating,
    ),
  };
  return { ...result, key, fact };
}
