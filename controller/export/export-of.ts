import { Complaints } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { ExportFact, ExportRecord, ServiceFact, SliceFact } from "../model/facts.ts";
import { MOST_ENDPOINTS, MOST_GROUPS } from "../model/limits.ts";
import { type EndpointGroup, endpointGroups } from "./endpoint-groups.ts";

/** What there is to export, and by whom. */
export interface Exportable {
  readonly export: ExportFact;
  /** Absent if there is no Service of the export's name. */
  readonly service?: ServiceFact;
  /** All slices of that Service. */
  readonly slices: readonly SliceFact[];
  /** Id of this cluster. */
  readonly cluster: string;
}

/** What is published. */
export interface Exported {
  /** Reason of condition `Valid` (KEP-1645). */
  readonly valid: "Valid";
  readonly record: ExportRecord;
  readonly endpoints: readonly EndpointGroup[];
  /** What is left out of it, for it is more than anybody may publish. */
  readonly problems: readonly Problem[];
}

/** Why nothing is published: `Valid` is false for this reason (KEP-1645). */
export interface NotExported {
  readonly valid: "NoService" | "InvalidServiceType";
}

/** What a ServiceExport publishes, now. An export without its Service waits for it, and contributes nothing. */
export function exportOf({
  export: { key, created, metadata },
  service,
  slices,
  cluster,
}: Exportable): Exported | NotExported {
  if (service === undefined) return { valid: "NoService" };
  const { properties } = service;
  if (properties === undefined) return { valid: "InvalidServiceType" };
  const complaints = new Complaints(`ServiceExport ${key}`);
  return {
    valid: "Valid",
    record: { cluster, key, exported: created, metadata, ...properties },
    endpoints: withinLimits(endpointGroups(properties, slices), complaints),
    problems: complaints.problems,
  };
}

/** No reader takes more: who publishes it all would not know what is lost. */
function withinLimits(
  groups: readonly EndpointGroup[],
  complaints: Complaints,
): readonly EndpointGroup[] {
  const total = groups.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
  if (groups.length > MOST_GROUPS) complaints.add("too-many-slices", "slices", groups.length);
  if (total > MOST_ENDPOINTS) complaints.add("too-many-endpoints", "slices", total);
  if (groups.length <= MOST_GROUPS && total <= MOST_ENDPOINTS) return groups;
  const kept: EndpointGroup[] = [];
  let room = MOST_ENDPOINTS;
  for (const group of groups.slice(0, MOST_GROUPS)) {
    const endpoints = group.endpoints.slice(0, room);
    if (endpoints.length > 0) kept.push({ ...group, endpoints });
    room -= endpoints.length;
  }
  return kept;
}
