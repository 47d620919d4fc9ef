import type { Reason } from "../../api/reasons.ts";
import { tierRank } from "../../api/tiers/tiers.ts";
import type { ImportPlan } from "../plan/import-plan.ts";
import { servicePortName, type VirtualService } from "../plan/virtual-service.ts";

/** How near the node's cluster can serve an import. */
export interface Nearness {
  readonly import: string;
  /** `ns/name:port` of the port that is served from farthest, or not at all; absent if the import has no port. */
  readonly port?: string;
  /** The tier in use; absent if no endpoint can take a connection. */
  readonly tier?: string;
  /** The reason for this tier, or for none. */
  readonly reason: Reason;
}

/** Farther than every tier. */
const NOWHERE = Number.POSITIVE_INFINITY;

/**
 * Of a plan's ports the one that is served from farthest: an import is as near as that one. A port is as near as its better IP family, because
 * clients of two families use the one that answers. `portName`: only this port. Undefined if the import has no such port. PURE.
 */
export function nearnessOf(plan: ImportPlan, portName: string | undefined): Nearness | undefined {
  const about = { import: plan.importKey };
  if (plan.reason !== "programmed") return { ...about, reason: plan.reason };
  const nearest = new Map<string, VirtualService>();
  for (const service of plan.services) {
    if (portName !== undefined && service.portName !== portName) continue;
    const port = `${servicePortName(service)} ${service.protocol}`;
    const known = nearest.get(port);
    if (known === undefined || rankOf(service) < rankOf(known)) nearest.set(port, service);
  }
  const farthest = [...nearest.values()].reduce<VirtualService | undefined>(
    (one, other) => (one === undefined || rankOf(other) > rankOf(one) ? other : one),
    undefined,
  );
  if (farthest === undefined) return undefined;
  const { tier, reason } = farthest;
  return { ...about, port: servicePortName(farthest), ...(tier !== undefined && { tier }), reason };
}

/** Whether connections are answered from the tier of rank `within`, or a nearer one. PURE. */
export function isServed(nearness: Nearness, within: number): boolean {
  return rankOf(nearness) <= within;
}

/** Endpoints that do not answer serve nobody. */
function rankOf({ tier, reason }: { readonly tier?: string; readonly reason: Reason }): number {
  if (tier === undefined || reason === "nearest-unanswering") return NOWHERE;
  return tierRank(tier) ?? NOWHERE;
}
