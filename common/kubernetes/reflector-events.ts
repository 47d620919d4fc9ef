import type { Reason } from "../../api/reasons.ts";
import type { FaultReason } from "./api-fault.ts";
import { CLUSTER_PROPERTIES } from "./kinds.ts";

/**
 * Event handlers of a reflector. An object may be reported again without a change. If a handler throws, the reflector logs
 * it, continues, and reports the object again with a list within ten minutes.
 */
export interface ReflectorEvents {
  /**
   * An object was listed, added, changed, or recreated (another uid). The reflector does not keep it. Lists of built-in
   * kinds omit `kind` and `apiVersion`. `at`: time of arrival, in milliseconds of the clock.
   */
  changed(key: string, object: unknown, at: number): void;
  /**
   * An object does not exist any more, or is left out, because its namespace has the most of too many objects. Never called because of a fault, except for
   * objects that only lists with `too-many-objects` have contained, and the last of these no longer in the part that was read.
   */
  removed(key: string, at: number, how?: Removal): void;
  /** The first list is complete. Called once. */
  listed(): void;
  /** The state of the connection changed. */
  state(state: ReflectorState): void;
}

/** Source of a removal: a deletion event, or a confirmed list or response without the object. */
export type Removal = "deleted" | "missing";

/** State of a reflector's connection. */
export interface ReflectorState {
  /** `watching`, or the reason why not. */
  readonly reason: ReflectorReason;
  /** Message of the fault, for people. */
  readonly detail?: string;
}

/** True if the watch of `resource` does not work, and would in every cluster. The CRD of ClusterProperties is optional. PURE. */
export function isWatchFault(resource: string, reason: ReflectorReason): boolean {
  if (reason === "not-served") return resource !== CLUSTER_PROPERTIES.resource;
  return reason !== "watching" && reason !== "listing" && reason !== "expired";
}

/** Reasons of a reflector's state. */
export type ReflectorReason = Extract<Reason, "watching" | "listing" | "doubtful"> | FaultReason;
