import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import { portInFamily } from "../model/model.ts";
import type { Allowance } from "../model/rule-budget.ts";
import type { VirtualService } from "./virtual-service.ts";

/** All decisions about one import, with reasons, as shown by `/plan`, `plan` and logs. */
export interface ImportPlan {
  readonly importKey: ObjectKey;
  /** `programmed`, or the reason why not. */
  readonly reason: Reason;
  /** All VIPs of the import. */
  readonly vips: readonly PlannedVip[];
  /** One per port and family; empty unless `reason` is `programmed`. */
  readonly services: readonly VirtualService[];
  /** Endpoints without traffic, per port, and unused slices. */
  readonly excluded: readonly Excluded[];
  /** Remarks about slices that are used; absent if there are none. */
  readonly remarks?: readonly Remark[];
  /** Slices that are left out because of a limit, as a whole or in part; absent if there are none. `excluded` names the first 100, or endpoints of them. */
  readonly limited?: LimitedSlices;
  /** Quarantined ports, whose rules are not in the kernel as planned; absent if there are none. */
  readonly setAside?: readonly SetAsidePort[];
}

/** A quarantined port: the kernel rejects its rules, or another program has a conflicting object. */
export interface SetAsidePort {
  /** `ns/name:port`. */
  readonly servicePort: string;
  readonly protocol: Protocol;
  readonly family: Family;
  readonly reason: Extract<Reason, "refused-by-kernel" | "affinity-unsupported" | "server-foreign">;
}

/** Slices beyond the limit of an import, a namespace or the node. */
export interface LimitedSlices {
  readonly reason: Allowance["reason"];
  readonly slices: number;
}

/** A remark about a slice that is used. */
export interface Remark {
  readonly slice: ObjectKey;
  /** `origin-unknown`: its endpoints count as the farthest tier, whatever their addresses suggest. */
  readonly reason: Extract<Reason, "draining" | "origin-unknown">;
}

/** The decision about one VIP. */
export interface PlannedVip {
  readonly address: string;
  readonly reason: Reason;
  /** With `vip-conflict`: the import that has it. */
  readonly heldBy?: ObjectKey;
  /** Present if DNS does not return it any more: the ClusterSet CIDR changes. */
  readonly previous?: true;
}

/** An endpoint that gets no traffic on a port, and the reason. */
export interface Excluded {
  /** The slice that lists it. */
  readonly slice: ObjectKey;
  /** Canonical address; absent if the whole slice is excluded. */
  readonly address?: string;
  /** Name of its tier. */
  readonly tier?: string;
  /** ID of the source cluster, if the slice names one. */
  readonly cluster?: string;
  /** `ns/name:port` of the port; absent if excluded from all ports. */
  readonly servicePort?: string;
  readonly reason: Reason;
}

/** The tier that each port uses, as `ImportView.inUse`. PURE. */
export function usedTiers({ services }: ImportPlan): ReadonlyMap<string, string> {
  return new Map(
    services.flatMap((service) =>
      service.tier === undefined ? [] : [[portInFamily(service), service.tier] as const],
    ),
  );
}
