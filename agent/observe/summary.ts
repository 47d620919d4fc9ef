import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ImportPlan, LimitedSlices, PlannedVip } from "../plan/import-plan.ts";
import { type PortReason, servicePortName } from "../plan/virtual-service.ts";

/** The part of an import's plan that is compared with the next one; whole plans would need too much memory. */
export interface ImportSummary {
  readonly importKey: ObjectKey;
  readonly reason: Reason;
  readonly vips: readonly PlannedVip[];
  /** One per port and family. */
  readonly ports: readonly PortSummary[];
  /** Slices that are left out because of a limit; absent if there are none. */
  readonly limited?: LimitedSlices;
}

/** One port of an import, in one family. */
export interface PortSummary {
  /** `ns/name:port`. */
  readonly name: string;
  readonly protocol: Protocol;
  readonly family: Family;
  /** Absent if the port rejects connections. */
  readonly tier?: string;
  readonly reason: PortReason;
  /** The number of endpoints that receive traffic. */
  readonly endpoints: number;
  /** Of a port that rejects connections: why its endpoints are excluded, each reason once, in order. Absent if it has none. */
  readonly excluded?: readonly Reason[];
}

/** The summary of a plan. PURE. */
export function summaryOf(plan: ImportPlan): ImportSummary {
  const exclusions = exclusionsOf(plan);
  return {
    importKey: plan.importKey,
    reason: plan.reason,
    vips: plan.vips,
    ports: plan.services.map((service) => ({
      name: servicePortName(service),
      protocol: service.protocol,
      family: service.family,
      ...(service.tier !== undefined && { tier: service.tier }),
      reason: service.reason,
      endpoints: service.endpoints.length,
      ...(service.tier === undefined && exclusions(servicePortName(service))),
    })),
    ...(plan.limited !== undefined && { limited: plan.limited }),
  };
}

/** The reasons of a port, by name: an index, because a plan may have a thousand ports. */
function exclusionsOf({
  excluded,
}: ImportPlan): (servicePort: string) => Pick<PortSummary, "excluded"> {
  const byPort = new Map<string | undefined, Set<Reason>>();
  for (const { servicePort, reason } of excluded) {
    byPort.set(servicePort, (byPort.get(servicePort) ?? new Set()).add(reason));
  }
  return (name) => {
    const reasons = new Set([...(byPort.get(undefined) ?? []), ...(byPort.get(name) ?? [])]);
    return reasons.size > 0 ? { excluded: [...reasons].sort() } : {};
  };
}

/** Identifies a port within its import, whatever its tier is. */
export function portKey(port: PortSummary): string {
  return `${port.name} ${port.protocol} ${port.family}`;
}
