import { namesOf } from "../../api/names.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { SliceFact } from "../model/facts.ts";
import { MOST_ENDPOINTS, MOST_SLICES } from "../model/limits.ts";
import { recordName } from "./names.ts";
import { type RuleFactors, rulesOf, rulesPerEndpoint } from "./rule-shares.ts";

/** One cluster's share of a service within the limits. */
export interface LimitedSlices {
  readonly slices: readonly SliceFact[];
  readonly problems: readonly Problem[];
}

/**
 * The slices of one service in order of key, up to `MOST_SLICES` and `MOST_ENDPOINTS`, and to those endpoints that cost a
 * node at most `rules`.
 */
export function limitedSlices(
  published: readonly SliceFact[],
  service: RuleFactors,
  rules: number,
): LimitedSlices {
  const first = published[0];
  if (first === undefined) return { slices: [], problems: [] };
  const { namespace } = namesOf(first.key);
  const complaints = new Complaints(`ServiceImport ${namespace}/${recordName(first.service)}`);
  const ordered = published.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  if (ordered.length > MOST_SLICES) complaints.add("too-many-slices", "slices", ordered.length);
  const slices: SliceFact[] = [];
  let room = MOST_ENDPOINTS;
  let rulesLeft = rules;
  for (const slice of ordered.slice(0, MOST_SLICES)) {
    const { endpoints } = slice;
    const cost = rulesPerEndpoint(slice, service);
    const affordable = cost === 0 ? room : Math.floor(rulesLeft / cost);
    if (endpoints.length > Math.min(room, affordable)) {
      if (room <= affordable) complaints.add("too-many-endpoints", "slices", countOf(ordered));
      else complaints.add("too-many-rules", "slices", rulesOf(ordered, service));
      const kept = endpoints.slice(0, Math.min(room, affordable));
      if (kept.length > 0) slices.push({ ...slice, endpoints: kept });
      break;
    }
    slices.push(slice);
    room -= endpoints.length;
    rulesLeft -= endpoints.length * cost;
  }
  return { slices, problems: complaints.problems };
}

function countOf(slices: readonly SliceFact[]): number {
  return slices.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}
