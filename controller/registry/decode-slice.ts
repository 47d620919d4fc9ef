import { isSubdomainName } from "../../api/names.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { SliceFact } from "../model/facts.ts";
import { parseSliceContent } from "../model/slice-content.ts";
import { serviceOfSlice } from "./names.ts";
import { isInPlace, isRecorded } from "./place.ts";
import type { Registry } from "./registry.ts";

/**
 * Reads a slice of a record out of a registry, by whoever wrote it. `service` of the fact is the exported Service. A
 * slice without `LABEL_RECORD` gives neither fact nor problem. One that does not agree on whose it is, or is of
 * unusable address type, gives no fact; endpoints and ports are left out one by one.
 */
export function decodeSlice(object: unknown, registry: Registry): Parsed<SliceFact> {
  const { complaints, key } = parseObjectName("EndpointSlice", object, isSubdomainName);
  if (!isRecorded(object)) return { object: complaints.object, problems: [], ...(key && { key }) };
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const service = serviceOfSlice(key.slice(key.indexOf("/") + 1));
  if (!isInPlace(object, service, registry, complaints)) return { ...result, key };
  const content = parseSliceContent(object, registry, complaints);
  if (content === undefined) return { ...result, key };
  return { ...result, key, fact: { key, service, ...content } };
}
