import type { Cidr } from "../../api/cidr.ts";
import {
  CONTROLLER_NAME,
  LABEL_MANAGED_BY,
  LABEL_RECORD,
  LABEL_SERVICE_NAME,
  LABEL_SERVICE_SLICE,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { isLabelName, isSubdomainName, namesOf, objectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset, textField } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import type { SliceFact } from "./facts.ts";
import { parseSliceContent } from "./slice-content.ts";

/** On slices that Karmada's MultiClusterService copies to the Service of the same name: their cluster. They have no label of it. */
const KARMADA_SOURCE = "endpointslice.karmada.io/provision-cluster";

/**
 * Parses an EndpointSlice of a Service. Imported and published slices are ignored, because exporting them would be a
 * loop. No fact for an invalid name, label or address type. No endpoint may be in `clusterSetCidrs`.
 */
export function parseServiceSlice(
  object: unknown,
  clusterSetCidrs: readonly Cidr[] = [],
): Parsed<SliceFact> {
  return parseObject("EndpointSlice", object, isSubdomainName, (key, complaints) => {
    const label = (name: string) => fieldAt(object, "metadata", "labels", name);
    const service = label(LABEL_SERVICE_SLICE);
    const ours =
      !isUnset(label(LABEL_SERVICE_NAME)) ||
      !isUnset(label(LABEL_RECORD)) ||
      label(LABEL_MANAGED_BY) === CONTROLLER_NAME;
    if (isUnset(service) || ours) return undefined;
    if (typeof service !== "string" || !isLabelName(service)) {
      return complaints.add("invalid-label", `metadata.labels[${LABEL_SERVICE_SLICE}]`, service);
    }
    const ranges = { clusterSetCidrs, endpointCidrs: [] };
    const content = parseSliceContent(object, ranges, complaints);
    if (content === undefined) return undefined;
    const source =
      textField(fieldAt(object, "metadata", "labels"), LABEL_SOURCE_CLUSTER) ??
      textField(fieldAt(object, "metadata", "annotations"), KARMADA_SOURCE);
    return {
      key,
      service: objectKey(namesOf(key).namespace, service),
      ...content,
      ...(source !== undefined && { source }),
    };
  });
}
