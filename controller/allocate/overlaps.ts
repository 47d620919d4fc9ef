import type { Address } from "../../api/address.ts";
import { type Cidr, cidrOf, overlap, widthOf } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";

/** What else has addresses in a cluster, as far as the controller sees it. */
export interface AddressUse {
  /** Ranges that Services take their ClusterIPs from (ServiceCIDR, Kubernetes 1.33; or a flag). */
  readonly serviceCidrs: readonly Cidr[];
  /** Ranges that pods have (`spec.podCIDRs` of Nodes, endpoint CIDRs of peers). */
  readonly podCidrs: readonly Cidr[];
  /** ClusterIPs seen: all there is to go by where nobody tells the range. */
  readonly clusterIps: readonly Address[];
}

/** A ClusterSet CIDR that is not only that. */
export interface RangeOverlap {
  readonly reason: Extract<Reason, "pod-range-overlap" | "service-range-overlap">;
  /** The ClusterSet CIDR. */
  readonly range: Cidr;
  /** The other range; a ClusterIP is one of a single address. */
  readonly with: Cidr;
}

/**
 * ClusterSet CIDRs that overlap addresses of Services or pods; of many ClusterIPs in a range the first is named. A
 * VIP that is a ClusterIP too takes its traffic, one that is a pod's makes the pod unreachable.
 */
export function overlapsOf(ranges: readonly Cidr[], use: AddressUse): RangeOverlap[] {
  return ranges.flatMap((range) => {
    const found = (reason: RangeOverlap["reason"], others: readonly Cidr[]): RangeOverlap[] =>
      others
        .filter((other) => overlap(range, other))
        .map((other) => ({ reason, range, with: other }));
    const ips = use.clusterIps.map((ip) => cidrOf(ip, widthOf(ip.family)));
    return [
      ...found("service-range-overlap", use.serviceCidrs),
      ...found("service-range-overlap", ips).slice(0, 1),
      ...found("pod-range-overlap", use.podCidrs),
    ];
  });
}

/** The ranges of others that can stand in an allocation's way: what `VipPool.reserved` takes. */
export function reservedIn(ranges: readonly Cidr[], others: readonly Cidr[]): Cidr[] {
  return others.filter((other) => ranges.some((range) => overlap(range, other)));
}
