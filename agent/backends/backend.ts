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

/**
 * Why a check read rules: `routine`, because the kernel does not tell of changes; `prompted` by a change of any other program. `none`: there was no
 * such change, so nothing was read, and the check cost nothing.
 */
export type Reading = "routine" | "prompted" | "none";

/** Details of one import that is set. */
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

/** Reads what the kernel holds for some services, for `/kernel`: also of objects that another program has changed since. */
export interface KernelReader {
  /** The VIPs and ports of these services that the kernel has something for. Rejects as `KernelTable.read` does. */
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
  /** The counters of these services by destination, draining ones included. Rejects as `KernelTable.read` does. */
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
