import type { Reason } from "../../api/reasons.ts";
import type { Conflict, MergedService } from "../merge/merged.ts";
import type { Claim, Condition } from "../model/condition.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import { allLeftOut, type LeftOut } from "./left-out.ts";
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
  /** What is published; absent if it cannot be read. */
  readonly record?: ExportRecord;
  /** Of the published slices with endpoints, at least one of each family and set of ports. */
  readonly offered: readonly SliceFact[];
  /** The merged exports of the name. */
  readonly merged?: MergedService;
  /** False while an exporter may be unknown: then what depends on others stays. */
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

/** Reasons of condition `Ready`. */
type ReadyReason =
  | "Exported"
  /** All endpoints are left out wherever the name is imported. */
  | "EndpointsLeftOut"
  | "Failed"
  | "Pending"
  | "Ready";

function readyClaim(input: ExportInput): Claim {
  const { valid, publication, omitted, registry } = input;
  const claim = (status: Claim["status"], reason: ReadyReason, message: string): Claim => ({
    type: "Ready",
    status,
    reason,
    message,
  });
  if (valid === "NoService") return claim("False", "Pending", "Waiting for the Service.");
  if (valid !== "Valid") return claim("False", "Failed", "The Service cannot be exported.");
  switch (publication) {
    case "published": {
      const kept = keptLeftOut(input);
      if (kept !== undefined) return kept;
      const [reason, place] =
        registry === "hub"
          ? (["Exported", "Published to the hub"] as const)
          : (["Ready", "Published to this cluster's registry"] as const);
      const lost = leftOutOf(input);
      if (lost === undefined) return claim("True", reason, withOmissions(`${place}.`, omitted));
      const message = `${place}, but no cluster uses an endpoint of it. ${lost.detail}`;
      return claim("False", LEFT_OUT, withOmissions(message, [...omitted, ...lost.reasons]));
    }
    case "pending":
      return claim("False", "Pending", "Publishing to this cluster's registry.");
    case "failed":
      return claim("False", "Failed", "This cluster's registry rejects it.");
    case "unknown":
      return claim("Unknown", "Pending", "Cannot reach this cluster's registry.");
  }
}

const LEFT_OUT = "EndpointsLeftOut" satisfies ReadyReason;

function leftOutOf({ record, offered, merged, isComplete }: ExportInput): LeftOut | undefined {
  if (record === undefined || merged === undefined || !isComplete) return undefined;
  return allLeftOut(record, offered, merged);
}

/** The present condition, if it says that all endpoints are left out, and the exporter that decides so may be unknown now. */
function keptLeftOut({ isComplete, offered, seen }: ExportInput): Claim | undefined {
  if (isComplete || offered.length === 0) return undefined;
  const said = seen.find(({ type, reason }) => type === "Ready" && reason === LEFT_OUT);
  return said && claimOf(said);
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
  if (!isComplete && said !== undefined) return claimOf(said);
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

function claimOf({ type, status, reason, message }: Condition): Claim {
  return { type, status, reason, message };
}

function sentenceOf({ field, value, winner, isChosen, disagree, of }: Conflict): string {
  const others = `${disagree}/${of} clusters disagree`;
  const decider = isChosen ? "deciding cluster" : "oldest export";
  return field === "ports"
    ? `ports are merged, the ${decider}'s (${winner}: ${value}) first; ${others}.`
    : `${field} is taken from the ${decider}, ${value} of ${winner}; ${others}.`;
}
