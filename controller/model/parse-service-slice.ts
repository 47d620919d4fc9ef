import type { Cidr } from "../../api/cidr.ts";
import {
  CONTROLLER_NAME,
  LABEL_MANAGED_BY,
  LABEL_RECORD,
  LABEL_SERVICE_NAME,
  LABEL_SERVICE_SLICE,
} from "../../api/keys.ts";
import { isLabelName, isSubdomainName, objectKey } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { SliceFact } from "./facts.ts";
import { parseSliceContent } from "./slice-content.ts";

/**
 * Reads an EndpointSlice of a Service of this cluster, whoever manages it. Any other slice gives neither fact nor
 * problem, and so does one that says it was imported or published: exporting it again would be a loop. One of unusable
 * name, label or address type gives no fact. No endpoint may lie in `clusterSetCidrs`.
 */
export function parseServiceSlice(
  object: unknown,
  clusterSetCidrs: readonly Cidr[] = [],
): Parsed<SliceFact> {
  const { complaints, key, namespace } = parseObjectName("EndpointSlice", object, isSubdomainName);
  const label = (name: string) => fieldAt(object, "metadata", "labels", name);
  const service = label(LABEL_SERVICE_SLICE);
  const ours =
    !isUnset(label(LABEL_SERVICE_NAME)) ||
    !isUnset(label(LABEL_RECORD)) ||
    label(LABEL_MANAGED_BY) === CONTROLLER_NAME;
  if (isUnset(service) || ours) {
    return { object: complaints.object, problems: [], ...(key && { key }) };
  }
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined || namespace === undefined) return result;
  if (typeof service !== "string" || !isLabelName(service)) {
    complaints.add("invalid-label", `metadata.labels[${LABEL_SERVICE_SLICE}]`, service);
    return { ...result, key };
  }
  const ranges = { clusterSetCidrs, endpointCidrs: [] };
  const content = parseSliceContent(object, ranges, complaints);
  if (content === undefined) return { ...result, key };
  return { ...result, key, fact: { key, service: objectKey(namespace, service), ...content } };
}
