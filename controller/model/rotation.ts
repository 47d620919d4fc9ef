import { ANNOTATION_DRAIN, ANNOTATION_SHIFT } from "../../api/keys.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseShift, type Shift, shiftText } from "../../api/shift.ts";
import { type Drain, drainText, parseDrain } from "./drain.ts";
import type { ClusterState } from "./facts.ts";

/** How the endpoints of a cluster are used: as a last resort unless it is `alive`. A drained cluster that is stale is `stale`. */
export type RotationState = ClusterState | "drained";

/** Whether a cluster is in rotation. */
export interface Rotation {
  readonly state: RotationState;
  /** The window in which nodes adopt it; absent: at once. It stays when it is over: its end needs no write. */
  readonly shift?: Shift;
}

/** What the ClusterProperty `rotationProperty` records. */
export interface RotationRecord extends Rotation {
  /** The drain in force, unless it is the local cluster's own, which can be read whenever this can. */
  readonly drain?: Drain;
}

/** A cluster without a record. */
export const IN_ROTATION: RotationRecord = { state: "alive" };

const STATES: readonly RotationState[] = ["alive", "stale", "drained"];

/** Parses a record; undefined if it is invalid. */
export function parseRotation(object: unknown, complaints: Complaints): RotationRecord | undefined {
  const value = fieldAt(object, "spec", "value");
  const state = STATES.find((one) => one === value);
  if (state === undefined) return complaints.add("invalid-object", "spec.value", value);
  const shift = parseShift(object, complaints);
  const drain = parseDrain(object, complaints);
  return { state, ...(shift !== undefined && { shift }), ...(drain !== undefined && { drain }) };
}

/** Value and annotations of the property; undefined if there is nothing to record. */
export function rotationContent({ state, shift, drain }: RotationRecord) {
  if (state === "alive" && shift === undefined) return undefined;
  const annotations = {
    ...(shift !== undefined && { [ANNOTATION_SHIFT]: shiftText(shift) }),
    ...(drain !== undefined && { [ANNOTATION_DRAIN]: drainText(drain) }),
  };
  return { value: state, annotations };
}
