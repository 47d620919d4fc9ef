import type { Reason } from "../../api/reasons.ts";
import type { FaultReason } from "./api-fault.ts";

/**
 * Who is told what a reflector sees. Nothing is told twice in a row without having changed, but objects may be.
 * A key is `namespace/name`, or `name` where the kind has no namespaces. If a call throws, the log says so, the
 * others go on, and the object is told again by a list, within ten minutes.
 */
export interface ReflectorEvents {
  /**
   * An object is there: listed, new, changed, or deleted and made anew (another uid). It is not kept. Lists of
   * built-in kinds leave out `kind` and `apiVersion`. `at`: when it was learned of, in milliseconds of the clock.
   */
  changed(key: string, object: unknown, at: number): void;
  /** An object is gone. Never because something failed. */
  removed(key: string, at: number, how?: Removal): void;
  /** The first complete list is through. Once. */
  listed(): void;
  /** How the connection is from now on. */
  state(state: ReflectorState): void;
}

/** How it is known that an object is gone: somebody has deleted it; or a list that is believed, or an answer, lacks it. */
export type Removal = "deleted" | "missing";

/** How a reflector's connection is. */
export interface ReflectorState {
  /** `watching`, or why it is not. */
  readonly reason: ReflectorReason;
  /** What was answered, or not, for people. */
  readonly detail?: string;
}

/** Reasons that a reflector's state may carry. */
export type ReflectorReason = Extract<Reason, "watching" | "listing" | "doubtful"> | FaultReason;
