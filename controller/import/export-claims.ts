import { byCount, counted } from "../../api/count.ts";
import { shown } from "../../api/problem.ts";
import type { Reason } from "../../api/reasons.ts";
import { portText } from "../merge/conflicts.ts";
import type { Conflict, MergedService } from "../merge/merged.ts";
import type { Claim, Condition } from "../model/condition.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import { type Rejected, withOmissions } from "./import-claims.ts";
import { importableSlices } from "./imported-slices.ts";
import type { Outside } from "./outside.ts";

/** Result of publishing a record. */
export type Publication =
  | "published"
  /** Not written yet. */
  | "pending"
  /** There is no room for it: its namespace has its share of the registry. */
  | "withheld"
  /** Rejected by the API server. */
  | "failed"
  /** The API server cannot be reached. */
  | "unknown";

/** Input of the conditions of a ServiceExport. */
export interface ExportInput {
  readonly valid: "InvalidServiceType" | "NoService" | "Valid";
  readonly publication: Publication;
  /** Why it is `failed`. */
  readonly rejected?: Rejected;
  /** Reasons of parts that are not published. */
  readonly omitted: readonly Reason[];
  readonly registry: "hub" | "mesh";
  /** What is published; absent if it cannot be read. */
  readonly record?: ExportRecord;
  /** Of the published slices with endpoints, at least one of each family and set of ports. */
  readonly offered: readonly SliceFact[];
  /** Endpoints that other clusters reject. Those that no cluster accepts are not in `offered`. */
  readonly outside?: Outside;
  /** False while it may not be known of all clusters what they reject: then what depends on it stays. */
  readonly areRangesKnown: boolean;
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
      const kept = keptReady(input);
      if (kept !== undefined) return kept;
      const [reason, place] =
        registry === "hub"
          ? (["Exported", "Published to the hub"] as const)
          : (["Ready", "Published to this cluster's registry"] as const);
      const rejected = input.outside === undefined ? [] : [outsideText(input.outside)];
      const lost = leftOutOf(input);
      if (lost === undefined) {
        return claim("True", reason, withOmissions([`${place}.`, ...rejected].join(" "), omitted));
      }
      const { detail, reasons, users } = lost;
      const none = `${place}, but no ${users} uses an endpoint of it.`;
      const message = [none, ...detail, ...rejected].join(" ");
      return claim("False", LEFT_OUT, withOmissions(message, [...omitted, ...reasons]));
    }
    case "withheld":
      return claim("False", "Failed", withOmissions(WITHHELD, omitted));
    case "pending":
      return claim("False", "Pending", "Publishing to this cluster's registry.");
    case "failed":
      return claim("False", "Failed", failedText(input.rejected));
    case "unknown":
      return claim("Unknown", "Pending", "Cannot reach this cluster's registry.");
  }
}

function failedText(rejected: Rejected | undefined): string {
  if (rejected === undefined) return "This cluster's registry rejects it.";
  return `This cluster's registry rejects it, or a part of it: ${rejected.reason}: ${rejected.message}`;
}

const WITHHELD =
  "Not published: this namespace has its share of what controllers keep and other clusters read.";
const LEFT_OUT = "EndpointsLeftOut" satisfies ReadyReason;
const OUTSIDE = "outside-endpoint-cidrs" satisfies Reason;
const REJECTED: LeftOut = { users: "other cluster", reasons: [], detail: [] };

function leftOutOf({
  record,
  offered,
  outside,
  merged,
  isComplete,
}: ExportInput): LeftOut | undefined {
  // A cluster uses its own endpoints wherever they are.
  if (outside !== undefined && offered.length === 0) return REJECTED;
  if (record === undefined || merged === undefined || !isComplete) return undefined;
  return allLeftOut(record, offered, merged);
}

function outsideText({ count, of, example, by, ranges }: Outside): string {
  const all = `${count} of ${counted(of, "endpoint")}, such as ${example},`;
  return `${all} ${byCount(count, "is", "are")} outside the endpoint CIDRs that ${by} declares for this cluster: ${shown(ranges)}.`;
}

/** The present condition, if it says that endpoints are left out because of a cluster that may not be known now. */
function keptReady({ isComplete, areRangesKnown, offered, seen }: ExportInput): Claim | undefined {
  const said = seen.find(({ type }) => type === "Ready");
  if (said === undefined) return undefined;
  const isUnsure = !isComplete && said.reason === LEFT_OUT && offered.length > 0;
  const isRejected = !areRangesKnown && said.message.includes(OUTSIDE);
  return isUnsure || isRejected ? claimOf(said) : undefined;
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

/** Why no cluster uses an endpoint of an export. */
interface LeftOut {
  readonly users: "cluster" | "other cluster";
  readonly reasons: readonly Reason[];
  /** What differs, as sentences. */
  readonly detail: readonly string[];
}

/**
 * Why importing clusters leave out all endpoints that an export publishes; undefined if they use some, or if it publishes none.
 * `slices`: of the export, with endpoints; at least one of each family and set of ports.
 */
function allLeftOut(
  record: ExportRecord,
  slices: readonly SliceFact[],
  merged: MergedService,
): LeftOut | undefined {
  if (slices.length === 0) return undefined;
  const imported = importableSlices(merged, [{ record, slices, state: "alive" }]);
  if (imported.slices.length > 0) return undefined;
  const reasons = [...new Set(imported.omitted.map(({ reason }) => reason))].sort();
  const detail = reasons.map((reason) => SENTENCES[reason](record, merged));
  return { users: "cluster", reasons, detail };
}

type Sentence = (record: ExportRecord, merged: MergedService) => string;

const SENTENCES = {
  "family-not-merged": ({ families }, merged) =>
    `The import's IP families are ${merged.families.join(", ")}, this Service's ${families.join(", ")}.`,
  "port-not-merged": ({ ports }, merged) =>
    `The import's ports are ${textOf(merged.ports)}, this Service's ${textOf(ports)}. A port is used if it has the same number and protocol, and is not another port by its name.`,
} as const satisfies Partial<Record<Reason, Sentence>>;

/** Ports as one short, printable text. */
function textOf(ports: ExportRecord["ports"]): string {
  return ports.length === 0 ? "none" : shown(ports.map(portText).join(", "));
}
