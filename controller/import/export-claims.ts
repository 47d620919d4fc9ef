import type { Conflict, MergedService } from "../merge/merged.ts";
import type { Claim, Condition } from "../model/condition.ts";

/** What became of the record of an export. */
export type Publication =
  /** It lies in this cluster's registry. */
  | "published"
  /** It is about to be written. */
  | "pending"
  /** The registry's API server does not take it. */
  | "failed"
  /** The registry's API server is not reached. */
  | "unknown";

/** What is known of a ServiceExport of this cluster. */
export interface ExportSight {
  /** What exporting it came to. */
  readonly valid: "InvalidServiceType" | "NoService" | "Valid";
  readonly publication: Publication;
  /** Whether records are pushed to a hub or lie ready to be pulled. */
  readonly registry: "hub" | "mesh";
  /** All exports of its name. */
  readonly merged?: MergedService;
  /** False while a cluster that exports the name may not have been listed: what was said of conflicts stays. */
  readonly isComplete: boolean;
  /** The conditions that it has. */
  readonly seen: readonly Condition[];
}

/** Conditions of a ServiceExport, in the words of KEP-1645: `Valid`, `Ready` and `Conflict`, always all three. */
export function exportClaims(sight: ExportSight): Claim[] {
  return [validClaim(sight), readyClaim(sight), conflictClaim(sight)];
}

const VALIDITY = {
  Valid: "The Service is exported.",
  NoService: "There is no Service of this name.",
  InvalidServiceType: "A Service of type ExternalName cannot be exported.",
} as const;

function validClaim({ valid }: ExportSight): Claim {
  return {
    type: "Valid",
    status: valid === "Valid" ? "True" : "False",
    reason: valid,
    message: VALIDITY[valid],
  };
}

function readyClaim({ valid, publication, registry }: ExportSight): Claim {
  const claim = (status: Claim["status"], reason: string, message: string): Claim => ({
    type: "Ready",
    status,
    reason,
    message,
  });
  if (valid === "NoService") return claim("False", "Pending", "It waits for its Service.");
  if (valid !== "Valid") return claim("False", "Failed", "Its Service cannot be exported.");
  switch (publication) {
    case "published":
      return registry === "hub"
        ? claim("True", "Exported", "It was written to the hub.")
        : claim("True", "Ready", "It lies in this cluster's registry, for all others to read.");
    case "pending":
      return claim("False", "Pending", "It is being written to this cluster's registry.");
    case "failed":
      return claim("False", "Failed", "This cluster's registry does not take it.");
    case "unknown":
      return claim("Unknown", "Pending", "This cluster's registry is not reached.");
  }
}

const NO_CONFLICTS: Claim = {
  type: "Conflict",
  status: "False",
  reason: "NoConflicts",
  message: "All clusters that export it agree.",
};

function conflictClaim({ valid, merged, isComplete, seen }: ExportSight): Claim {
  // What is not exported disagrees with nobody.
  if (valid !== "Valid") return NO_CONFLICTS;
  const said = seen.find(({ type }) => type === NO_CONFLICTS.type);
  if (!isComplete && said !== undefined) {
    return { type: said.type, status: said.status, reason: said.reason, message: said.message };
  }
  const conflicts = merged?.conflicts ?? [];
  if (conflicts.length === 0) return NO_CONFLICTS;
  return {
    type: NO_CONFLICTS.type,
    status: "True",
    // The API allows a comma in a reason, and no blank.
    reason: conflicts.map(({ reason }) => reason).join(),
    message: conflicts.map(sentenceOf).join(" "),
  };
}

function sentenceOf({ field, value, winner, disagree, of }: Conflict): string {
  const others = `${disagree}/${of} clusters disagree`;
  return field === "ports"
    ? `ports are united, the oldest export's (${winner}: ${value}) first; ${others}.`
    : `${field} is that of the oldest export, ${value} of ${winner}; ${others}.`;
}
