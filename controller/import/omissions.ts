import { type Problem, shown } from "../../api/problem.ts";
import type { OmittedSlice } from "./imported-slices.ts";

/** Problems told of one cluster's part in one name. */
const MOST_TOLD = 100;

/** What people are told of slices that are not imported, by cluster. */
export function omissionsOf(omitted: readonly OmittedSlice[]): Map<string, Problem[]> {
  const told = new Map<string, Problem[]>();
  for (const { cluster, slice, reason, has } of omitted) {
    const problems = told.get(cluster) ?? [];
    told.set(cluster, problems);
    if (problems.length === MOST_TOLD) continue;
    const field = reason === "family-not-merged" ? "addressType" : "ports";
    problems.push({ reason, object: `EndpointSlice ${slice}`, field, value: shown(has) });
  }
  return told;
}
