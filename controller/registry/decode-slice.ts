import { isSubdomainName, namesOf } from "../../api/names.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { SliceFact } from "../model/facts.ts";
import { parseSliceContent } from "../model/slice-content.ts";
import { serviceOfSlice } from "./names.ts";
import type { Registry } from "./registry.ts";
import { isRecordObject, isValidMetadata } from "./validate-metadata.ts";

/**
 * Decodes a slice of a record; `service` is the exported Service. Slices without `LABEL_RECORD` are ignored. No fact
 * for a misplaced slice or an invalid address type; invalid endpoints and ports are left out.
 */
export function decodeSlice(object: unknown, registry: Registry): Parsed<SliceFact> {
  return parseObject("EndpointSlice", object, isSubdomainName, (key, complaints) => {
    const service = serviceOfSlice(namesOf(key).name);
    if (!isRecordObject(object) || !isValidMetadata(object, service, registry, complaints))
      return undefined;
    const content = parseSliceContent(object, registry, complaints);
    return content && { key, service, ...content };
  });
}
