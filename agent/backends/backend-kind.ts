import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { Scheduler } from "../../api/keys.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Logger } from "../../common/log.ts";
import type { ConnectionCounters, KernelReader, Limits, Masquerade } from "./backend.ts";
import type { AnyDataplane } from "./dataplane.ts";
import type { Requirements } from "./requirements.ts";

/** Flags of backends; agent/config/flags.ts documents them. */
export interface BackendConfig {
  /** One range per family or two; at least one. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** Where there may be VIPs outside of these. */
  readonly explicitVipCidrs: readonly Cidr[];
  readonly podCidrs: readonly Cidr[];
  readonly masquerade: Masquerade;
  readonly iptablesFlavour: "auto" | "nft" | "legacy";
  readonly ipvsScheduler: Scheduler;
  /** Seconds; absent leaves the kernel's. */
  readonly ipvsTcpTimeout: number | undefined;
  readonly kubeProxyExcludeCidrs: readonly Cidr[];
}

/** A backend before and after it programs a family. `kinds.ts` has them all. */
export interface BackendKind {
  /**
   * Tests whether this node supports the backend, and prepares the node (sysctls, a device). Undefined once `stop` is aborted.
   * Never rejects.
   */
  prepare(
    config: BackendConfig,
    log: Logger,
    stop: AbortSignal,
  ): Promise<ReadyBackend | Unsupported | undefined>;
  /** As `prepare` on a node that supports the backend, but without reading or changing the node: for `render`. */
  assume(config: BackendConfig): ReadyBackend;
  /** Every place where an earlier run may have left objects. */
  leftovers(options: LeftoverOptions): readonly Leftover[];
}

/** Why a node does not support a backend. */
export interface Unsupported {
  readonly reason: Reason;
  /** What is missing, each a sentence that says how to add it. */
  readonly lacks: readonly string[];
  /** True if an earlier run used the backend on this node, so that the cause may be temporary. */
  readonly usedBefore: boolean;
}

/** Whether this is the result of `prepare` on a node that does not support the backend. */
export function isUnsupported(found: ReadyBackend | Unsupported): found is Unsupported {
  return "lacks" in found;
}

/** Log fields that distinguish the places a backend can write to, such as the iptables flavour; often none. */
export type Variant = Readonly<Record<string, string>>;

/** A backend that this node supports. */
export interface ReadyBackend {
  readonly variant: Variant;
  readonly requirements: Requirements;
  /** Makes the backend of one family with its ClusterSet CIDRs. Reads and writes nothing yet. */
  open(family: Family, clusterSetCidrs: readonly Cidr[], options: OpenOptions): OpenBackend;
  /**
   * Tests what this node cannot do for services of a family, and leaves nothing behind. What cannot be tested is assumed to be
   * supported. Never rejects.
   */
  limits(family: Family, stop?: AbortSignal): Promise<Limits>;
  /** Calls `objected`, at most once, with the reason if the backend becomes unusable. Returns a function that stops watching. */
  watch(objected: (why: string) => void): () => void;
}

/** What a backend needs to program one family. */
export interface OpenOptions {
  /** Descriptors that child processes keep open, so that the node lock outlives an agent that is killed. */
  readonly keep: readonly number[];
  /** True while rules of another backend of ours may still be in place: until they are removed, they forward as before. */
  readonly othersInPlace: () => boolean;
  /** Called whenever a child process failed; the next transaction starts another. */
  readonly onRespawn: () => void;
}

/** The backend of one family. */
export interface OpenBackend {
  readonly dataplane: AnyDataplane;
  readonly reader: KernelReader;
  /** Absent if the kernel has no counters for this backend. */
  readonly counters?: ConnectionCounters;
}

/** How objects of earlier runs are removed. */
export interface LeftoverOptions {
  /** The ClusterSet CIDRs, if known. */
  readonly ranges: readonly Cidr[];
  /** Descriptors that child processes keep open. */
  readonly keep: readonly number[];
  /** The backend in use on this node: this one (in another variant or family), another, or none. */
  readonly inUse: "this" | "other" | "none";
  /** Ends the reading back, so that nothing is removed; does not end a removal. */
  readonly stop: AbortSignal | undefined;
}

/** One place where an earlier run may have left objects. */
export interface Leftover {
  readonly variant: Variant;
  readonly family: Family;
  /** Removes them and returns how many there were. Rejects with a coded error if that is not possible. */
  remove(): Promise<number>;
}
