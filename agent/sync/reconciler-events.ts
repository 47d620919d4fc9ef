import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Drift } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { QuarantinedService } from "./quarantined-service.ts";

/** A pass that the kernel accepted. */
export interface Reconciliation {
  readonly family: Family;
  /** `complete`: everything was read back and compared; `changed`: only what had changed. */
  readonly scope: "changed" | "complete";
  /** From the first action to the kernel's acceptance. */
  readonly seconds: number;
  readonly writes: number;
  readonly deletes: number;
  /** For each change that is live now: when its source observed it, in milliseconds of the clock. */
  readonly changedAt: readonly number[];
}

/** A pass or a check that failed. The kernel keeps what it had, or part of the new: the next pass reads it back. */
export interface Failure {
  readonly family: Family;
  readonly error: unknown;
  /** Failures in a row, this one included. */
  readonly failures: number;
  /** Milliseconds until the next attempt. */
  readonly retryIn: number;
}

/** What other programs did to our kernel objects. */
export interface Drifted {
  readonly family: Family;
  readonly drift: readonly Drift[];
  /** Milliseconds until it is repaired: more than 0 if the same was repaired shortly before. */
  readonly repairIn: number;
}

/** A service that entered or left quarantine. */
export interface QuarantineChange extends QuarantinedService {
  readonly family: Family;
}

/** One attempt of the search for services that the kernel rejects. */
export interface Attempt {
  readonly family: Family;
  readonly accepted: boolean;
}

/** Rules of an earlier run that stay, because the first complete lists lack most of their services, or flags allow the VIPs of few. */
export interface Retained {
  readonly family: Family;
  /** Services that are not listed, or whose VIPs are not allowed. */
  readonly services: number;
  /** Services that the kernel holds rules for. */
  readonly of: number;
  /** Milliseconds for which the rules stay; absent if flags do not allow the VIPs, for as long as that is so. */
  readonly forMs?: number;
}

/** The end of a retention. */
export interface Released {
  readonly family: Family;
  /** Services whose rules are deleted now; 0 if they are listed again. */
  readonly services: number;
}

/** Receives what a reconciler did. */
export interface ReconcilerEvents {
  reconciled(what: Reconciliation): void;
  failed(what: Failure): void;
  drifted(what: Drifted): void;
  /** A drift check failed; rules are written all the same. */
  checkFailed(what: Omit<Failure, "failures">): void;
  /** A drift check did not fail. */
  checked(family: Family): void;
  tried(what: Attempt): void;
  quarantined(what: QuarantineChange): void;
  unquarantined(what: QuarantineChange): void;
  retained(what: Retained): void;
  released(what: Released): void;
}

/**
 * Follows what the kernel of one family has accepted, for work that may only be done afterwards, such as connection
 * tracking. It never delays a transaction.
 */
export interface Follower {
  /** The kernel held rules for these VIPs and ports (`Programmed.destinations`) before this process wrote to it. Once, before anything else. */
  found(destinations: Iterable<string>): void;
  /** These services of one import are part of the transaction that is being made; none: the import is removed. */
  proposed(key: ObjectKey, services: readonly VirtualService[]): void;
  /** These services of an import that is not proposed may keep the rules that they have. */
  kept(services: readonly VirtualService[]): void;
  /** What was proposed is live. `complete`: everything live was proposed. */
  accepted(complete: boolean): void;
  /** What was proposed may be live in part; it will be proposed again with everything else. */
  failed(): void;
}
