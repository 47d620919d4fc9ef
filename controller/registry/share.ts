import { Complaints } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { SliceFact } from "../model/facts.ts";
import { MOST_ENDPOINTS, MOST_SLICES } from "../model/limits.ts";
import { recordName } from "./names.ts";

/** One cluster's share of a service, as far as it keeps to the limits. */
export interface Share {
  readonly slices: readonly SliceFact[];
  readonly problems: readonly Problem[];
}

/**
 * Of all slices that one cluster publishes of one service, by key in order, as many as it may. What is beyond
 * `MOST_SLICES` or `MOST_ENDPOINTS` is left out, in every cluster the same.
 */
export function shareOf(published: readonly SliceFact[]): Share {
  const first = published[0];
  if (first === undefined) return { slices: [], problems: [] };
  const complaints = new Complaints(
    `ServiceImport ${namespaceOf(first)}/${recordName(first.service)}`,
  );
  const ordered = published.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (ordered.length > MOST_SLICES) complaints.add("too-many-slices", "slices", ordered.length);
  const slices: SliceFact[] = [];
  let room = MOST_ENDPOINTS;
  for (const slice of ordered.slice(0, MOST_SLICES)) {
    if (slice.endpoints.length > room) {
      const total = ordered.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
      complaints.add("too-many-endpoints", "slices", total);
      if (room > 0) slices.push({ ...slice, endpoints: slice.endpoints.slice(0, room) });
      break;
    }
    slices.push(slice);
    room -= slice.endpoints.length;
  }
  return { slices, problems: complaints.problems };
}

function namespaceOf({ key }: SliceFact): string {
  return key.slice(0, key.indexOf("/"));
}
