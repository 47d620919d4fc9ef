import type { Address } from "../../api/address.ts";
import { type Cidr, cidrOf, contains, overlap, widthOf } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";

/** Other addresses in a cluster. */
export interface AddressUse {
  /** Ranges of ClusterIPs, from ServiceCIDRs (Kubernetes 1.33) or a flag. */
  readonly serviceCidrs: readonly Cidr[];
  /** Ranges of pods, from Nodes, flags and peers. */
  readonly podCidrs: readonly Cidr[];
  /** ClusterIPs of Services, for clusters whose range is unknown. */
  readonly clusterIps: readonly Address[];
}

/** An overlap of a ClusterSet CIDR with other addresses. */
export interface RangeOverlap {
  readonly reason: Extract<Reason, "pod-range-overlap" | "service-range-overlap">;
  /** The ClusterSet CIDR. */
  readonly range: Cidr;
  /** The other range; for a ClusterIP, its single address. */
  readonly with: Cidr;
}

/**
 * All overlaps; of many ClusterIPs in a range, only the first. A VIP that equals a ClusterIP or a pod IP would take
 * its traffic.
 */
export function overlapsOf(ranges: readonly Cidr[], use: AddressUse): RangeOverlap[] {
  return ranges.flatMap((range) => {
    const found = (reason: RangeOverlap["reason"], others: readonly Cidr[]): RangeOverlap[] =>
      others
        .filter((other) => overlap(range, other))
        .map((other) => ({ reason, range, with: other }));
    const ip = use.clusterIps.find((one) => contains(range, one));
    return [
      ...found("service-range-overlap", use.serviceCidrs),
      ...found("service-range-overlap", ip === undefined ? [] : [cidrOf(ip, widthOf(ip.family))]),
      ...found("pod-range-overlap", use.podCidrs),
    ];
  });
}

/** The ranges of `others` that overlap `ranges`. */
export function reservedIn(ranges: readonly Cidr[], others: readonly Cidr[]): Cidr[] {
  return others.filter((other) => ranges.some((range) => overlap(range, other)));
}
