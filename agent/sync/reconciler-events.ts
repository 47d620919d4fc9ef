import type { Family } from "../../api/address.ts";
import type { Drift } from "../backends/backend.ts";
import type { SetAside } from "./set-aside.ts";

/** What a reconciler has just made of the kernel. */
export interface Reconciliation {
  readonly family: Family;
  /** `complete`: everything was read back and compared; `changed`: only what had changed was. */
  readonly scope: "changed" | "complete";
  /** From the first thing done to the kernel's yes. */
  readonly seconds: number;
  /** False if services are held back, because it is not known yet which of them the kernel refuses. */
  readonly whole: boolean;
  readonly writes: number;
  readonly deletes: number;
  /** For each change that is now live: when its source learned of it, in milliseconds of the clock. */
  readonly changedAt: readonly number[];
}

/** A pass or a look that failed. The kernel keeps what it had, or part of the new: the next pass reads it back. */
export interface Failure {
  readonly family: Family;
  readonly error: unknown;
  /** How many in a row, this one included. */
  readonly failures: number;
  /** Milliseconds until the next try. */
  readonly retryIn: number;
}

/** What somebody else did to our kernel objects. */
export interface Drifted {
  readonly family: Family;
  readonly drift: readonly Drift[];
  /** Milliseconds until it is repaired: more than 0 if the same was repaired shortly before. */
  readonly repairIn: number;
}

/** What became of a service that the kernel refuses. */
export interface SetAsideChange extends Omit<SetAside, "error"> {
  readonly family: Family;
  /** What the tool said; undefined if the service is live as planned again, or not wanted any more. */
  readonly error?: unknown;
}

/** One step of the search for services that the kernel refuses. */
export interface Trial {
  readonly family: Family;
  readonly accepted: boolean;
}

/** The sources' first word would take away most services that the kernel has. */
export interface LossDoubted {
  readonly family: Family;
  /** Services whose rules stay though nothing tells of them. */
  readonly services: number;
  /** Services that the kernel has rules of. */
  readonly of: number;
  /** Milliseconds until it is believed. */
  readonly believedIn: number;
}

/** That is not in doubt any more. */
export interface LossBelieved {
  readonly family: Family;
  /** Services whose rules go now; 0 if all are told of again. */
  readonly services: number;
}

/** Who is told. */
export interface ReconcilerEvents {
  reconciled(what: Reconciliation): void;
  failed(what: Failure): void;
  drifted(what: Drifted): void;
  /** Looking whether somebody has changed anything failed; rules are written all the same. */
  lookFailed(what: Omit<Failure, "failures">): void;
  tried(what: Trial): void;
  /** A service is set aside, with or without its affinity, for a reason or for another one than before. */
  setAside(what: SetAsideChange): void;
  /** A service is not set aside any more. */
  restored(what: SetAsideChange): void;
  lossDoubted(what: LossDoubted): void;
  lossBelieved(what: LossBelieved): void;
}
