import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ImportPlan, PlannedVip } from "../plan/import-plan.ts";
import { type PortReason, servicePortName } from "../plan/virtual-service.ts";

/**
 * As much of an import's plan as is compared with the next one. The plan itself is not kept: with a hundred
 * endpoints an import, thousands of them would fill the memory.
 */
export interface ImportSummary {
  readonly importKey: ObjectKey;
  readonly reason: Reason;
  readonly vips: readonly PlannedVip[];
  /** One per port and family. */
  readonly ports: readonly PortSummary[];
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
  /** How many take traffic. */
  readonly endpoints: number;
  /** Of a port that rejects connections: why its endpoints are out, each word once, in order. Absent if nobody lists any. */
  readonly excluded?: readonly Reason[];
}

/** What is kept of a plan. PURE. */
export function summaryOf(plan: ImportPlan): ImportSummary {
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
      ...(service.tier === undefined && exclusionsOf(servicePortName(service), plan)),
    })),
  };
}

function exclusionsOf(name: string, { excluded }: ImportPlan): Pick<PortSummary, "excluded"> {
  const words = new Set<Reason>();
  for (const { servicePort = name, reason } of excluded)
    if (servicePort === name) words.add(reason);
  return words.size > 0 ? { excluded: [...words].sort() } : {};
}

/** What tells one port of an import from its others, also after it has moved. */
export function portKey(port: PortSummary): string {
  return `${port.name} ${port.protocol} ${port.family}`;
}
