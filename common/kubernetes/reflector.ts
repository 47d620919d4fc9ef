import type { Reason } from "../../api/reasons.ts";

/** A kind of object on an API server, and which objects of it. */
export interface ResourceQuery {
  /** API group; empty for the core group. */
  readonly group: string;
  /** In order of preference: the first that the API server serves is used. */
  readonly versions: readonly string[];
  /** Lower-case plural of the kind: `endpointslices`. */
  readonly resource: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** True: where the kind is not served, there simply is none. False: that is a fault which is waited out. */
  readonly optional?: boolean;
}

/** Who is told what a reflector sees. Nothing is told twice in a row without having changed, but objects may be. */
export interface ReflectorEvents {
  /** An object is there: listed, new or changed. It is not kept. `at`: when it was learned of, in milliseconds of the clock. */
  changed(key: string, object: unknown, at: number): void;
  /** An object is gone: by an event, or by a list that is believed. Never because something failed. */
  removed(key: string, at: number): void;
  /** The first complete list is through. Once. */
  listed(): void;
  /** How the connection is from now on. */
  state(state: ReflectorState): void;
}

/** How a reflector's connection is. */
export interface ReflectorState {
  /** `watching`, or why it is not. */
  readonly reason: ReflectorReason;
  /** What was answered, or not, for people. */
  readonly detail?: string;
}

/** Reasons that a reflector's state may carry. */
export type ReflectorReason = Extract<Reason, "watching">;
