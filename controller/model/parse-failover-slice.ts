import {
  FAILOVER_MANAGER,
  LABEL_MANAGED_BY,
  LABEL_SERVICE_SLICE,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { isSubdomainName, type ObjectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import type { SliceFact } from "./facts.ts";
import { parseSliceContent } from "./slice-content.ts";

/** A failover slice. */
export interface FailoverSliceFact extends Pick<SliceFact, "family" | "ports"> {
  readonly key: ObjectKey;
  /** Their conditions depend on the Service's own endpoints. */
  readonly addresses: readonly string[];
  /** Source cluster; absent: its label was removed, and the slice is written again. */
  readonly cluster?: string;
}

/** Its addresses were checked when it was written. */
const ANY_ADDRESS = { clusterSetCidrs: [], endpointCidrs: [] };

/** True for an EndpointSlice that the controller wrote for ClusterIP failover, valid or not. */
export function isFailoverSlice(object: unknown): boolean {
  return fieldAt(object, "metadata", "labels", LABEL_MANAGED_BY) === FAILOVER_MANAGER;
}

/** The name of the Service in a failover slice. Its name begins with it, also if its label was removed. */
export function serviceOfFailoverSlice(name: string, object: unknown): string {
  const label = textField(fieldAt(object, "metadata", "labels"), LABEL_SERVICE_SLICE);
  return label ?? name.split(".")[0] ?? name;
}

/** Parses a failover slice. */
export function parseFailoverSlice(object: unknown): Parsed<FailoverSliceFact> {
  return parseObject("EndpointSlice", object, isSubdomainName, (key, complaints) => {
    const content = parseSliceContent(object, ANY_ADDRESS, complaints);
    if (content === undefined) return undefined;
    const cluster = textField(fieldAt(object, "metadata", "labels"), LABEL_SOURCE_CLUSTER);
    const { family, ports, endpoints } = content;
    const addresses = endpoints.map(({ address }) => address);
    return { key, family, ports, addresses, ...(cluster !== undefined && { cluster }) };
  });
}
