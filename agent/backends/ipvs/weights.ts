import { gcd } from "../../../api/gcd.ts";
import type { PlannedEndpoint, VirtualService } from "../../plan/virtual-service.ts";
import { type ClusterGroup, clusterGroups } from "../cluster-groups.ts";

/** Maximum weight: more would be of no use, because `wrr` serves a whole cycle in a fixed order, and the lightest at its end. */
const MOST = 65_535;

/** The weight of each endpoint: integers in the ratio of their shares, exact unless the ratio is beyond 1 to 65,535; less than 1 is rounded up. PURE. */
export function weightsOf(service: VirtualService): ReadonlyMap<PlannedEndpoint, number> {
  const { endpoints, shares } = service;
  if (shares === undefined) return new Map(endpoints.map((one) => [one, 1]));
  const groups = clusterGroups(service);
  const weights = exact(groups) ?? rounded(groups);
  return new Map(
    groups.flatMap(({ endpoints: own }, i) => own.map((one) => [one, weights[i] ?? 1])),
  );
}

/** Undefined if one would be too large. */
function exact(groups: readonly ClusterGroup[]): number[] | undefined {
  let common = 1;
  for (const { endpoints } of groups) {
    common *= endpoints.length / gcd(common, endpoints.length);
    // Beyond, products would not be exact.
    if (common > Number.MAX_SAFE_INTEGER / MOST) return undefined;
  }
  const whole = groups.map(({ weight, endpoints }) => weight * (common / endpoints.length));
  const divisor = whole.reduce(gcd);
  const weights = whole.map((weight) => weight / divisor);
  return weights.some((weight) => weight > MOST) ? undefined : weights;
}

function rounded(groups: readonly ClusterGroup[]): number[] {
  const parts = groups.map(({ weight, endpoints }) => weight / endpoints.length);
  const most = parts.reduce((a, b) => Math.max(a, b));
  return parts.map((part) => Math.max(1, Math.round((part / most) * MOST)));
}
