import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import { PROTOCOLS, type Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** Masqueraded connections besides hairpins: those from outside the pod ranges, to endpoints outside the pod ranges, or all. */
export const MASQUERADES = ["none", "off-cluster", "remote", "all"] as const;
/** One of `MASQUERADES`. */
export type Masquerade = (typeof MASQUERADES)[number];

/** Which connections are masqueraded. */
export interface MasqueradePolicy {
  readonly mode: Masquerade;
  /** The cluster's pod ranges, for `off-cluster` and `remote`. */
  readonly podCidrs: readonly Cidr[];
}

/**
 * A backend for one IP family. `State` is what the kernel holds as of the last read or accepted transaction, `Changes`
 * what it should hold; the sync loop passes both around without reading them.
 *
 * The contract, which test/ runs on every backend:
 * - Every method that does not return a promise is PURE, except those of `Ruleset`, which is a value of its own.
 * - Equal services give equal changes, whatever was set before.
 * - A diff against what the kernel already holds is empty.
 * - `apply` makes the whole transaction live or throws. After a throw the kernel's state is unknown until it is read.
 * - `read` recognises every kernel object of ours without memory of an earlier run.
 */
export interface Backend<State, Changes, Tx extends Transaction> {
  /** An empty ruleset: what the kernel should hold if there were no import. */
  ruleset(): Ruleset<Changes>;
  /** The state of a kernel that holds nothing of ours. */
  empty(): State;
  /** The services that the kernel holds rules for. */
  programmed(state: State): Programmed;
  /** Desired services that the kernel does not hold, because a foreign object is in their place. */
  conflicts(state: State): readonly Conflict[];
  /** The transaction that makes the kernel hold `changes`, computed in short steps between which others may run. */
  diff(state: State, changes: Changes): Generator<void, Tx>;
  /** What other programs changed between two states with no transaction of ours between them. */
  compare(before: State, found: State): readonly Drift[];
  /** Reads back everything of ours. Rejects with a coded error, and at once when `stop` is aborted. */
  read(stop?: AbortSignal): Promise<State>;
  /**
   * Compares the kernel with the state: all of it, or, where the kernel reports changes, only after one; or a part each time, if
   * all would cost too much. Read-only, and allowed to run beside `apply`; the answer is then discarded. Rejects as `read` does.
   */
  check(state: State, scope?: CheckScope, stop?: AbortSignal): Promise<Check<Tx>>;
  /** Makes one transaction live, and updates `state` once the kernel has accepted it. */
  apply(tx: Tx, state: State): Promise<void>;
  /** Ends helper processes; leaves the kernel as it is. */
  close(): Promise<void>;
}

/** The services that the kernel holds rules for, whether desired or not. */
export interface Programmed {
  /** The number of services; counted when it is read, at a cost in proportion to it. */
  readonly size: number;
  /** Whether a service is among them, whatever its endpoints are. */
  has(service: VirtualService): boolean;
  /** The import that the rules of a VIP are for, if there are any. */
  holder(vip: string): ObjectKey | undefined;
  /** The VIPs (`Address.hex`), protocols and ports of all services, as texts: `f1000001 UDP 53`. */
  readonly destinations: Iterable<string>;
}

/**
 * What a check looks for: all drift, which is the default; or only what is gone after a program has flushed everything, at a fraction of the cost.
 * If the second reads nothing, because no program has changed anything, the first would read nothing either.
 */
export type CheckScope = "all" | "gone";

/** The answer of a drift check. */
export interface Check<Tx> {
  /** What other programs changed; empty if nothing. A repair is a read and a diff. */
  readonly drift: readonly Drift[];
  /** Removes objects that are no longer needed, such as drained destinations; absent if there are none. */
  readonly garbage: Tx | undefined;
  readonly reading: Reading;
}

/**
 * Why a check read rules: `routine`, because the kernel does not tell of changes; `prompted` by a change of any other program. `none`: there was no
 * such change, so nothing was read, and the check cost nothing.
 */
export type Reading = "routine" | "prompted" | "none";

/** The answer of a check that had nothing to read. */
export const UNCHANGED: Check<never> = { drift: [], garbage: undefined, reading: "none" };

/** The desired state in a backend's own objects. In memory only, and derived from the services that are set now. */
export interface Ruleset<Changes> {
  /** Sets the services of one import; an empty list removes it. */
  set(key: ObjectKey, services: readonly VirtualService[], options?: SetOptions): void;
  /**
   * What changed since the last call, at a cost in proportion to the imports set since then, in short steps between which
   * nothing may be set. The first result is complete: what it does not name is not desired.
   */
  take(): Generator<void, Changes>;
}

/** Details of one import in a ruleset. */
export interface SetOptions {
  /** Returns the same services on every call, so that neither they nor their rules need to stay in memory. */
  readonly again?: () => readonly VirtualService[];
  /** More services of the import, whose existing rules stay: they are neither written nor deleted. */
  readonly kept?: readonly VirtualService[];
}

/** Runs steps to their end without a pause. */
export function finished<Result>(steps: Generator<void, Result>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** A foreign kernel object in the place of a service. */
export interface Conflict {
  readonly importKey: ObjectKey;
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly reason: Extract<Reason, "server-foreign">;
  /** What the object is, and how to remove it. */
  readonly message: string;
}

/** What another program did to one of our kernel objects. */
export interface Drift {
  readonly reason: DriftReason;
  /** The object, as the backend's own tool names it. */
  readonly what: string;
  /** The program that probably did it, if that can be determined. */
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
  | "table-missing"
  | "table-changed"
  | "elements-changed"
  | "setting-changed"
>;

/** Kernel changes as one value. */
export interface Transaction {
  /** True if there is nothing to do. */
  readonly empty: boolean;
  /** Numbers of kernel objects written and deleted, for logs, metrics and tests. */
  readonly writes: number;
  readonly deletes: number;
  /** The transaction as text, in the language of the tool that would run it. */
  toString(): string;
}

/** A backend of any kind. */
// biome-ignore lint/suspicious/noExplicitAny: the three types belong together, and only the backend reads them
export type AnyBackend = Backend<any, any, Transaction>;

/** Reads what the kernel holds for some services, for `/kernel`: also of objects that another program has changed since. */
export interface KernelReader {
  /** The VIPs and ports of these services that the kernel has something for. Rejects as `Backend.read` does. */
  held(services: readonly VirtualService[], stop?: AbortSignal): Promise<readonly HeldPort[]>;
}

/** What the kernel holds for one VIP and port. */
export interface HeldPort {
  readonly vip: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** Where new connections go: `10.1.0.11:8080`, sorted, each once. Empty: they are rejected. */
  readonly destinations: readonly string[];
}

/** Reads the kernel's connection counters, for `/plan`. */
export interface ConnectionCounters {
  /** The counters of these services by destination, draining ones included. Rejects as `Backend.read` does. */
  counts(
    services: readonly VirtualService[],
    stop?: AbortSignal,
  ): Promise<readonly DestinationCount[]>;
}

/** The kernel's counters for one destination of a VIP and port. */
export interface DestinationCount {
  readonly vip: string;
  readonly protocol: Protocol;
  readonly port: number;
  /** `10.1.0.11:8080`. */
  readonly destination: string;
  /** 0: draining. */
  readonly weight: number;
  /** Established connections, and those that are being opened or were closed recently. */
  readonly active: number;
  readonly inactive: number;
  /** Connections since the destination was added. */
  readonly total: number;
}

/** What this node supports for services of one IP family; a service that needs more is left out. */
export interface Limits {
  /** True if the node can keep a client on one endpoint (ClientIP affinity). */
  readonly affinity: boolean;
  /** Protocols of ports that can be programmed. */
  readonly protocols: ReadonlySet<Protocol>;
}

/** Everything is supported; also assumed if it cannot be tested. */
export const UNLIMITED: Limits = { affinity: true, protocols: new Set(PROTOCOLS) };
