import type { ObjectKey } from "../../api/names.ts";
import type { ExportedMetadata, ServiceProperties } from "../model/facts.ts";

/** Reasons of condition `Conflict` (KEP-1645 and the API). */
export type ConflictReason =
  | "AnnotationsConflict"
  | "IPFamilyConflict"
  | "InternalTrafficPolicyConflict"
  | "LabelsConflict"
  | "PortConflict"
  | "SessionAffinityConfigConflict"
  | "SessionAffinityConflict"
  | "TrafficDistributionConflict"
  | "TypeConflict";

/** A property on which exports disagree. */
export interface Conflict {
  readonly reason: ConflictReason;
  /** Name of the field in the API. */
  readonly field: string;
  /** The cluster that decides: with the oldest export, unless an operator set another. */
  readonly winner: string;
  /** The operator chose the winner, not its age. */
  readonly isChosen?: true;
  /** The winning value, printable and short. */
  readonly value: string;
  /** Number of clusters that disagree, of all exporting clusters. */
  readonly disagree: number;
  readonly of: number;
}

/** The merged exports of one name. */
export interface MergedService extends ServiceProperties {
  readonly key: ObjectKey;
  /** Without our policies, which no export decides for another cluster. */
  readonly metadata: ExportedMetadata;
  /** The exporting clusters: the one that decides first, then by age. */
  readonly contributors: readonly string[];
  readonly conflicts: readonly Conflict[];
}
