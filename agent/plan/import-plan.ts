import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import type { VirtualService } from "./virtual-service.ts";

/** Everything that was decided about one import, with why. What `/plan`, `plan` and logs show. */
export interface ImportPlan {
  readonly importKey: ObjectKey;
  /** `programmed`, or why nothing is. */
  readonly reason: Reason;
  /** Every VIP that the import asks for; `programmed`, or why this one is not. */
  readonly vips: readonly PlannedVip[];
  /** One per port and family; empty unless `reason` is `programmed`. */
  readonly services: readonly VirtualService[];
  /** Every endpoint that gets no traffic, per port, and every slice that is not used. */
  readonly excluded: readonly Excluded[];
  /** What is odd about slices that are used all the same; absent if nothing is. */
  readonly remarks?: readonly Remark[];
  /**
   * Ports that are not in the kernel as planned, because it refuses their rules or has others in their place; absent if
   * there are none.
   */
  readonly setAside?: readonly SetAsidePort[];
}

/** A port whose rules the kernel refuses, or in whose place something of somebody else's is. */
export interface SetAsidePort {
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly family: Family;
  readonly reason: Extract<Reason, "refused-by-kernel" | "affinity-unsupported" | "server-foreign">;
}

/** Something to know about a slice that is used. */
export interface Remark {
  readonly slice: ObjectKey;
  /** `origin-unknown`: its endpoints count as the farthest tier, whatever their addresses suggest. */
  readonly reason: Extract<Reason, "origin-unknown">;
}

/** What became of one of an import's VIPs. */
export interface PlannedVip {
  readonly address: string;
  readonly reason: Reason;
  /** With `vip-conflict`: the import that has it. */
  readonly heldBy?: ObjectKey;
}

/** An endpoint that gets no traffic on a port, and why. */
export interface Excluded {
  /** The slice that it stands in. */
  readonly slice: ObjectKey;
  /** Canonical address; absent when the whole slice is out. */
  readonly address?: string;
  /** Name of the tier that it would count as. */
  readonly tier?: string;
  /** Id of the source cluster, if the slice names one. */
  readonly cluster?: string;
  /** `ns/name:port` of the port that it is left out of; absent when it is left out of all. */
  readonly servicePort?: string;
  readonly reason: Reason;
}
