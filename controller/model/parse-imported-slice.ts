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
  namesOf,
  type ObjectKey,
  objectKey,
} from "../../api/names.ts";
import { field, fieldAt } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";

/** An imported slice. */
export interface ImportedSliceFact {
  readonly key: ObjectKey;
  readonly import: ObjectKey;
  /** Source cluster. */
  readonly cluster: string;
  /** Has a ready endpoint. */
  readonly ready: boolean;
}

/** True for an EndpointSlice that the controller imported, valid or not. */
export function isImportedSlice(object: unknown): boolean {
  const labels = fieldAt(object, "metadata", "labels");
  return (
    field(labels, LABEL_MANAGED_BY) === CONTROLLER_NAME &&
    typeof field(labels, LABEL_SERVICE_NAME) === "string"
  );
}

/** Parses an imported slice. One with invalid labels gives no fact, and is deleted. */
export function parseImportedSlice(object: unknown): Parsed<ImportedSliceFact> {
  return parseObject("EndpointSlice", object, isSubdomainName, (key) => factOf(object, key));
}

function factOf(object: unknown, key: ObjectKey): ImportedSliceFact | undefined {
  const labels = fieldAt(object, "metadata", "labels");
  const name = field(labels, LABEL_SERVICE_NAME);
  const cluster = field(labels, LABEL_SOURCE_CLUSTER);
  if (typeof name !== "string" || !isLabelName(name)) return undefined;
  if (typeof cluster !== "string" || !isClusterId(cluster)) return undefined;
  const endpoints = field(object, "endpoints");
  return {
    key,
    import: objectKey(namesOf(key).namespace, name),
    cluster,
    ready:
      Array.isArray(endpoints) &&
      endpoints.some((endpoint) => fieldAt(endpoint, "conditions", "ready") === true),
  };
}
