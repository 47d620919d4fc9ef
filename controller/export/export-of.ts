import { Complaints } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { ExportFact, ExportRecord, ServiceFact, SliceFact } from "../model/facts.ts";
import { MOST_ENDPOINTS, MOST_GROUPS } from "../model/limits.ts";
import { type EndpointGroup, endpointGroups } from "./endpoint-groups.ts";

/** Input of an export. */
export interface Exportable {
  readonly export: ExportFact;
  /** Absent if the Service does not exist. */
  readonly service?: ServiceFact;
  readonly slices: readonly SliceFact[];
  readonly cluster: string;
}

/** The published state. */
export interface Exported {
  /** Reason of condition `Valid` (KEP-1645). */
  readonly valid: "Valid";
  readonly record: ExportRecord;
  readonly endpoints: readonly EndpointGroup[];
  /** What exceeds the limits. */
  readonly problems: readonly Problem[];
}

/** Why nothing is published: the reason of condition `Valid` (KEP-1645). */
export interface NotExported {
  readonly valid: "NoService" | "InvalidServiceType";
}

/** Computes what a ServiceExport publishes. */
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
  const own = withoutForeign(slices, cluster, complaints);
  return {
    valid: "Valid",
    record: { cluster, key, exported: created, metadata, ...properties },
    endpoints: withinLimits(endpointGroups(properties, own), complaints),
    problems: complaints.problems,
  };
}

/** True if another product filled the slice of a Service with endpoints of another cluster than `cluster`. */
export function isForeign({ source }: SliceFact, cluster: string | undefined): boolean {
  return source !== undefined && source !== cluster;
}

/** Slices of other clusters are published by those clusters. */
function withoutForeign(
  slices: readonly SliceFact[],
  cluster: string,
  complaints: Complaints,
): readonly SliceFact[] {
  const foreign = slices.filter((slice) => isForeign(slice, cluster));
  if (foreign.length === 0) return slices;
  const sources = new Set(foreign.flatMap(({ source }) => source ?? []));
  complaints.add("foreign-cluster", "slices", [...sources].sort());
  return slices.filter((slice) => !isForeign(slice, cluster));
}

/** Readers reject what exceeds the limits, so it is left out and reported here. */
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
