import { type Cidr, isCidr, parseCidr } from "../../../api/cidr.ts";
import { fieldAt } from "../../../api/parse/fields.ts";
import type { Clock } from "../../../common/clock.ts";
import type { ApiServer } from "../../../common/kubernetes/api-server.ts";
import { listServed } from "../../../common/kubernetes/list-pages.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource.ts";
import { PeriodicRead } from "../../../common/periodic-read.ts";

/** The Service ranges of a cluster (KEP-1880; v1 since Kubernetes 1.33). */
export const SERVICE_CIDRS = {
  group: "networking.k8s.io",
  versions: ["v1", "v1beta1"],
  resource: "servicecidrs",
} as const satisfies ResourceQuery;

/** Milliseconds between two lists: Service ranges hardly ever change. */
const LIST_EVERY_MS = 15 * 60_000;
/** The same after a failure. */
const RETRY_MS = 5 * 60_000;

/** The Service ranges of the cluster, for preflight. Faults are not logged: preflight reports unknown ranges. */
export function serviceCidrs(api: ApiServer, clock: Clock): PeriodicRead<readonly Cidr[]> {
  return new PeriodicRead<readonly Cidr[]>({
    clock,
    every: LIST_EVERY_MS,
    retry: RETRY_MS,
    read: async (signal) => {
      const ranges: Cidr[] = [];
      await listServed({ api, clock, signal }, SERVICE_CIDRS, (object) => {
        ranges.push(...serviceRangesOf(object));
      });
      return ranges;
    },
  });
}

/** The valid ranges of a ServiceCIDR. PURE. */
export function serviceRangesOf(object: unknown): Cidr[] {
  const list = fieldAt(object, "spec", "cidrs");
  return (Array.isArray(list) ? list : []).flatMap((text: unknown) => {
    const range = typeof text === "string" ? parseCidr(text) : undefined;
    return range !== undefined && isCidr(range) ? [range] : [];
  });
}
