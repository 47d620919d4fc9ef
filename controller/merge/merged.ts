import type { ObjectKey } from "../../api/names.ts";
import type { ExportedMetadata, ServicePort, ServiceProperties } from "../model/facts.ts";

/** Words of condition `Conflict` (KEP-1645, and what comes with its field of the API). */
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

/** A property on which the exports of a service do not agree. */
export interface Conflict {
  readonly reason: ConflictReason;
  /** The property, as the field of a ServiceImport or ServiceExport is called. */
  readonly field: string;
  /** The cluster whose export is the oldest, so that it decides. */
  readonly winner: string;
  /** What counts, printable and short. */
  readonly value: string;
  /** How many of the `of` exporting clusters say something else. */
  readonly disagree: number;
  readonly of: number;
}

/** A port of a merged service. */
export interface MergedPort extends ServicePort {
  /**
   * The clusters whose Service has a port of this name, protocol and number, oldest export first. Endpoints of
   * others get none of its traffic, even if one of their ports bears the name (KEP-1645).
   */
  readonly clusters: readonly string[];
}

/** What all exports of one name come to. */
export interface MergedService extends ServiceProperties {
  readonly key: ObjectKey;
  readonly ports: readonly MergedPort[];
  readonly metadata: ExportedMetadata;
  /** The exporting clusters, oldest export first. */
  readonly contributors: readonly string[];
  readonly conflicts: readonly Conflict[];
}
