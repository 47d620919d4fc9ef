import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** The backends, by the name that `--backend` takes. */
export const BACKENDS = ["iptables", "ipvs"] as const;
/** One of `BACKENDS`. */
export type BackendName = (typeof BACKENDS)[number];

/**
 * Whose connections to a ClusterSetIP get the node's address as their source, beside hairpins, which always
 * do: those from outside the pod ranges, those to an endpoint outside of them, or all.
 */
export const MASQUERADES = ["none", "off-cluster", "remote", "all"] as const;
/** One of `MASQUERADES`. */
export type Masquerade = (typeof MASQUERADES)[number];

/**
 * What a backend is, for one IP family. `Believed` is what the backend thinks the kernel holds, `Changes`
 * what it wants there; the sync loop moves both around without looking inside.
 *
 * The contract, which test/ runs on every backend:
 * - `ruleset` and `diff` are pure; equal services give equal changes, whatever came before.
 * - A diff against what the kernel holds already is empty.
 * - `apply` either makes the whole transaction live and returns, or throws; after a throw nothing is
 *   believed any more, and the caller reads again.
 * - A process without memory recognises every kernel object that is ours (`read`).
 */
export interface Backend<Believed, Changes, Tx extends Transaction> {
  readonly name: BackendName;
  /** True if a VIP becomes an address of the node: then it must not be anybody else's. */
  readonly vipsOnNode?: boolean;
  /** An empty ruleset: what the kernel should hold for no import at all. PURE. */
  ruleset(): Ruleset<Changes>;
  /** What is to be done so that the kernel holds `changes`, and of the rest nothing less. PURE. */
  diff(believed: Believed, changes: Changes): Tx;
  /** The same in short steps, between which others may run; absent if there is never much to compare. */
  diffing?(believed: Believed, changes: Changes): Generator<void, Tx>;
  /** Whether the kernel is believed to hold rules that lead connections to a service on, wherever to. PURE. */
  has(believed: Believed, service: VirtualService): boolean;
  /** Of how many services the kernel is believed to hold such rules, wanted or not. PURE. */
  count(believed: Believed): number;
  /**
   * Reads which services these are, for a ruleset to keep them (`WantedExtra.kept`): of their endpoints only those that
   * may run on this node. Slow. Rejects as `read` does.
   */
  standing(stop?: AbortSignal): Promise<readonly VirtualService[]>;
  /** What is believed of a kernel that holds nothing of ours. PURE. */
  nothing(): Believed;
  /** Reads back all of ours. Read-only. Rejects with a coded error if it cannot, and at once when `stop` is aborted. */
  read(stop?: AbortSignal): Promise<Believed>;
  /** What somebody else has changed between what was believed and what was then read back. PURE. */
  compare(before: Believed, found: Believed): readonly Drift[];
  /**
   * Looks whether what all else hangs on is still as believed: the jumps, the guard, the first level. Cheap and
   * read-only; gives what somebody else has changed, nothing if all is well. A repair is a read and a diff. It may
   * run beside `apply`: what it gives then is not used. Rejects as `read` does.
   */
  check(believed: Believed, stop?: AbortSignal): Promise<readonly Drift[]>;
  /**
   * Looks whether what stays only for its connections has any left, and gives what removes it if not. Absent if a backend
   * keeps nothing for that. Rejects as `read` does.
   */
  ended?: ((believed: Believed, stop?: AbortSignal) => Promise<Tx>) | undefined;
  /**
   * From now on no other backend's rules lead connections on: what was left to these until now, the next transaction takes
   * over. Absent if that makes no difference.
   */
  alone?: () => void;
  /**
   * What the kernel counts for these services, destination by destination, those that are drained included. Absent if it
   * counts nothing. Rejects as `read` does.
   */
  counts?: (
    services: readonly VirtualService[],
    stop?: AbortSignal,
  ) => Promise<readonly DestinationCount[]>;
  /** Makes one transaction live, and updates `believed` to match once the kernel has said yes. */
  apply(tx: Tx, believed: Believed): Promise<void>;
  /** Wanted services that the kernel does not have, because something of somebody else's is in their place. PURE. */
  obstacles?: (believed: Believed) => readonly Obstacle[];
  /** Ends helper processes; leaves the kernel as it is. */
  close(): Promise<void>;
}

/** What the kernel counts for one destination of a VIP and port. */
export interface DestinationCount {
  readonly vip: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** `10.1.0.11:8080`. */
  readonly destination: string;
  /** 0: it keeps the connections that it has, and gets no new one. */
  readonly weight: number;
  /** Connections that are established, and those that are being made or have ended lately. */
  readonly active: number;
  readonly inactive: number;
  /** Connections that it has been given since it is there. */
  readonly total: number;
}

/** The wanted state in a backend's own objects. In memory only; derived from the services, never from the past. */
export interface Ruleset<Changes> {
  /** Says what one import wants; an empty list takes it out. */
  set(key: ObjectKey, services: readonly VirtualService[], extra?: WantedExtra): void;
  /**
   * What changed since the last call, at a cost in proportion to the imports set since then. The first call
   * is complete: it names everything wanted, and what it does not name is not wanted.
   */
  take(): Changes;
  /** The same in short steps, between which nothing may be set; absent if it never takes long. */
  taking?(): Generator<void, Changes>;
}

/** The result of steps that nobody wants to interrupt. */
export function finished<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** What may be said beside an import's services. */
export interface WantedExtra {
  /** Gives the same services whenever it is called, so that they, and what is made of them, need not be kept. */
  readonly again?: () => readonly VirtualService[];
  /** More services of the import, whose rules stay as the kernel has them: neither written nor deleted. */
  readonly kept?: readonly VirtualService[];
}

/** Something of somebody else's in the place of a service. */
export interface Obstacle {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly reason: Extract<Reason, "server-foreign">;
  /** What is there, and how it is removed. */
  readonly message: string;
}

/** What somebody else did to one of our kernel objects. */
export interface Drift {
  readonly reason: DriftReason;
  /** The object, as the backend's own tool names it. */
  readonly what: string;
  /** Who probably did it, if anything tells. */
  readonly suspect?: string;
}

/** Reasons that a drift may carry. */
export type DriftReason = Extract<
  Reason,
  | "jump-missing"
  | "jump-behind"
  | "jump-extra"
  | "chain-missing"
  | "chain-changed"
  | "server-missing"
  | "server-changed"
  | "server-freed"
  | "vip-missing"
  | "guard-missing"
  | "guard-changed"
  | "setting-changed"
>;

/** Kernel changes as one value. */
export interface Transaction {
  /** True if there is nothing to do. */
  readonly empty: boolean;
  /** Kernel objects written and deleted, for logs, metrics and tests. */
  readonly writes: number;
  readonly deletes: number;
  /** The transaction as text, in the language of the tool that would run it. */
  toString(): string;
}
