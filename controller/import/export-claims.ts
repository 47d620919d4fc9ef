import type { Reason } from "../../api/reasons.ts";
import type { Conflict, MergedService } from "../merge/merged.ts";
import type { Claim, Condition } from "../model/condition.ts";
import { withOmissions } from "./omission-message.ts";

/** Result of publishing a record. */
export type Publication =
  | "published"
  /** Not written yet. */
  | "pending"
  /** Rejected by the API server. */
  | "failed"
  /** The API server cannot be reached. */
  | "unknown";

/** Input of the conditions of a ServiceExport. */
export interface ExportInput {
  readonly valid: "InvalidServiceType" | "NoService" | "Valid";
  readonly publication: Publication;
  /** Reasons of parts that are not published. */
  readonly omitted: readonly Reason[];
  readonly registry: "hub" | "mesh";
  /** The merged exports of the name. */
  readonly merged?: MergedService;
  /** False while an exporter may be unknown: then the condition `Conflict` stays. */
  readonly isComplete: boolean;
  /** The present conditions. */
  readonly seen: readonly Condition[];
}

/** The conditions `Valid`, `Ready` and `Conflict` (KEP-1645), always all three. */
export function exportClaims(input: ExportInput): Claim[] {
  return [validClaim(input), readyClaim(input), conflictClaim(input)];
}

const VALIDITY = {
  Valid: "The Service is exported.",
  NoService: "The Service does not exist.",
  InvalidServiceType: "A Service of type ExternalName cannot be exported.",
} as const;

function validClaim({ valid }: ExportInput): Claim {
  return {
    type: "Valid",
    status: valid === "Valid" ? "True" : "False",
    reason: valid,
    message: VALIDITY[valid],
  };
}

function readyClaim({ valid, publication, omitted, registry }: ExportInput): Claim {
  const claim = (status: Claim["status"], reason: string, message: string): Claim => ({
    type: "Ready",
    status,
    reason,
    message,
  });
  if (valid === "NoService") return claim("False", "Pending", "Waiting for the Service.");
  if (valid !== "Valid") return claim("False", "Failed", "The Service cannot be exported.");
  switch (publication) {
    case "published":
      return registry === "hub"
        ? claim("True", "Exported", withOmissions("Published to the hub.", omitted))
        : claim("True", "Ready", withOmissions("Published to this cluster's registry.", omitted));
    case "pending":
      return claim("False", "Pending", "Publishing to this cluster's registry.");
    case "failed":
      return claim("False", "Failed", "This cluster's registry rejects it.");
    case "unknown":
      return claim("Unknown", "Pending", "Cannot reach this cluster's registry.");
  }
}

const NO_CONFLICTS: Claim = {
  type: "Conflict",
  status: "False",
  reason: "NoConflicts",
  message: "All exporting clusters agree.",
};

function conflictClaim({ valid, merged, isComplete, seen }: ExportInput): Claim {
  // An invalid export has no conflicts.
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
    // The API allows commas, but no spaces.
    reason: conflicts.map(({ reason }) => reason).join(),
    message: conflicts.map(sentenceOf).join(" "),
  };
}

function sentenceOf({ field, value, winner, isChosen, disagree, of }: Conflict): string {
  const others = `${disagree}/${of} clusters disagree`;
  const decider = isChosen ? "deciding cluster" : "oldest export";
  return field === "ports"
    ? `ports are merged, the ${decider}'s (${winner}: ${value}) first; ${others}.`
    : `${field} is taken from the ${decider}, ${value} of ${winner}; ${others}.`;
}
