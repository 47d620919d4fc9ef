import type { Reason } from "../../api/reasons.ts";
import type { Identity } from "../identity/own-identity.ts";

/** A drain on `/debug`. */
export interface DrainView {
  readonly phase: "planned" | "in-force" | "ended";
  readonly from: string;
  readonly until: string;
  readonly by?: string;
  readonly reason?: string;
  /** The object that states it. */
  readonly object: string;
}

/** One cluster on `/debug`. */
export interface ClusterView {
  readonly cluster: string;
  /** `alive` or `stale`, and why. */
  readonly state: string;
  readonly because: Reason;
  /** Whole seconds since its Lease was last renewed, by the local clock. */
  readonly silentSeconds?: number;
  /** Median milliseconds until the API server of its registry answered the last requests; absent without any. */
  readonly answerMs?: number;
  /** Whether its records are used, and why. */
  readonly verdict: Reason;
  readonly detail?: string;
  readonly records: "use" | "keep" | "drop";
  /** True once its registry was listed since the start. */
  readonly listed: boolean;
  /** True while a name that its registry lacks is known not to be exported. */
  readonly assured: boolean;
  /** Not of these names, or of names in these namespaces: the cluster's registry lacks and rejects them. */
  readonly assuredExcept?: readonly string[];
  /** State of each watch, by resource. */
  readonly connections: Readonly<Record<string, string>>;
  /** Present while it is drained. */
  readonly drained?: Extract<Reason, "drained">;
  /** All its drains, the one that ends last first. */
  readonly drains?: readonly DrainView[];
  /** The last window in which nodes left it or returned. */
  readonly shift?: string;
  readonly uid?: string;
  readonly region?: string;
  /** Release of its controller. */
  readonly version?: string;
  readonly exports: number;
  readonly slices: number;
  /** Rejected parts of its objects, by reason. */
  readonly refused: Readonly<Record<string, number>>;
}

/** A Service that requests ClusterIP failover, on `/debug`. */
export interface FailoverView {
  readonly service: string;
  readonly because: Reason;
  /** The clusters whose endpoints its failover slices list. */
  readonly clusters: readonly string[];
}

/** The page `/debug`. */
export interface DebugView {
  readonly identity?: Identity;
  readonly leader: boolean;
  readonly holder?: string;
  readonly working: boolean;
  /** Why it writes nothing. */
  readonly because?: Reason;
  readonly imports: number;
  /** Rejected parts of the local cluster's objects, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Endpoints of the local cluster whose unreadiness is held back (`held-back`). */
  readonly heldBack: number;
  readonly queue: { readonly waiting: number; readonly working: number; readonly failing: number };
  /** Services that request ClusterIP failover, and those of them that have slices; absent: none does. */
  readonly failoverServices?: { readonly requested: number; readonly prepared: number };
  /** The first hundred of them, those that do not have it first, or the one that was requested. */
  readonly failover?: readonly FailoverView[];
  readonly clusters: readonly ClusterView[];
}
