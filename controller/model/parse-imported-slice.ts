import type { Family } from "../../api/address.ts";
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
import type { Parsed } from "../../api/parse/complaints.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { field, fieldAt } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import { parseAddressType } from "../../api/parse/parse-endpoint.ts";
import type { ServicePort } from "./facts.ts";
import { parseServicePorts } from "./parse-service-ports.ts";

/** An imported slice. */
export interface ImportedSliceFact {
  readonly key: ObjectKey;
  readonly import: ObjectKey;
  /** Source cluster. */
  readonly cluster: string;
  readonly family: Family | undefined;
  readonly ports: readonly ServicePort[];
  readonly isEmpty: boolean;
  /** Has a ready endpoint. */
  readonly ready: boolean;
  /** Has an endpoint that is not ready, but serves, and does not terminate: of a cluster out of rotation, or held back by its exporter. */
  readonly held: boolean;
  /** Its namespace has its share of memory, and its ports are not kept. */
  readonly isReduced?: true;
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
  const complaints = new Complaints("");
  const list = field(object, "endpoints");
  const endpoints: readonly unknown[] = Array.isArray(list) ? list : [];
  const has = (endpoint: unknown, condition: string) =>
    fieldAt(endpoint, "conditions", condition) === true;
  return {
    key,
    import: objectKey(namesOf(key).namespace, name),
    cluster,
    family: parseAddressType(object, complaints),
    ports: parseServicePorts(field(object, "ports"), "ports", "slice", complaints),
    isEmpty: endpoints.length === 0,
    ready: endpoints.some((one) => has(one, "ready")),
    held: endpoints.some(
      (one) => has(one, "serving") && !has(one, "ready") && !has(one, "terminating"),
    ),
  };
}
