import { type Claim, conditionsOf } from "../model/condition.ts";
import type { ExportFact, ImportFact } from "../model/facts.ts";
import type { Json, Manifest } from "../model/manifest.ts";
import { mcsObject } from "../model/manifest.ts";
import type { StatusWanted } from "./import-of.ts";

/**
 * The status of an import. `seen`: the import after the write of its spec, because conditions refer to its
 * generation. `now`: milliseconds since 1970.
 */
export function importStatus(
  seen: Pick<ImportFact, "conditions" | "generation" | "key">,
  { clusters, endpointSliceObjects, claims }: StatusWanted,
  now: number,
): Manifest {
  return {
    ...mcsObject("ServiceImport", seen.key),
    status: {
      ...(clusters !== undefined && { clusters: clusters.map((cluster) => ({ cluster })) }),
      ...(endpointSliceObjects !== undefined && { endpointSliceObjects }),
      ...conditionsField(seen, claims, now),
    },
  };
}

/** The status of a ServiceExport. */
export function exportStatus(
  seen: Pick<ExportFact, "conditions" | "generation" | "key">,
  claims: readonly Claim[],
  now: number,
): Manifest {
  return {
    ...mcsObject("ServiceExport", seen.key),
    status: { ...conditionsField(seen, claims, now) },
  };
}

/** Absent without claims: an empty list would own the field. */
function conditionsField(
  { conditions, generation }: Pick<ImportFact, "conditions" | "generation">,
  claims: readonly Claim[],
  now: number,
): Readonly<Record<string, Json>> {
  if (claims.length === 0) return {};
  const timed = conditionsOf(claims, conditions, generation, now);
  return { conditions: timed.map((condition) => ({ ...condition })) };
}
