import type { Family } from "../../api/address.ts";
import { type Cidr, isCidr, overlap, parseCidr } from "../../api/cidr.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/**
 * Lists the chain in which kube-proxy in nftables mode drops packets to unallocated addresses of its Service ranges. Only
 * this chain, because the table's sets grow with the cluster.
 */
export function serviceRangeQuery(family: Family): [string, ...string[]] {
  const nft = family === "IPv4" ? "ip" : "ip6";
  return ["nft", "list", "chain", nft, "kube-proxy", "cluster-ips-check"];
}

/** The ranges in that chain; none without a kube-proxy in nftables mode. */
export function parseServiceRanges({ stdout }: ProgramResult): Cidr[] {
  const drops = stdout.matchAll(/^\s*ip6? daddr (?:\{([^}]*)\}|(\S+)) drop\b/gm);
  return [...drops].flatMap(([, set, one]) =>
    (set ?? one ?? "")
      .split(",")
      .map((range) => parseCidr(range.trim()))
      .filter((range) => isCidr(range)),
  );
}

/** Service ranges by source; a list is empty, too, if the source could not be read. */
export interface ServiceRangeFact {
  /** `--service-cidrs`. */
  readonly flag: readonly Cidr[];
  /** kube-proxy's table in nftables mode. */
  readonly kubeProxy: readonly Cidr[];
  /** The cluster's ServiceCIDR objects. */
  readonly objects: readonly Cidr[];
}

/**
 * Whether the ClusterSet CIDR is apart from the Service ranges. Otherwise an address may belong to a Service and to an import,
 * and kube-proxy in nftables mode drops packets that the guard would reject. In other modes kube-proxy does not show
 * its ranges, but the API server does (KEP-1880).
 */
export function checkServiceRange(cidr: Cidr, ranges: ServiceRangeFact): Finding {
  const key = { check: "service-range", family: cidr.family } as const;
  const sources = [
    ["kube-proxy's Service range", ranges.kubeProxy],
    ["the cluster's ServiceCIDR", ranges.objects],
    ["--service-cidrs", ranges.flag],
  ] as const;
  for (const [source, list] of sources) {
    const range = list.find((one) => overlap(one, cidr));
    if (range === undefined) continue;
    const advice = `--clusterset-cidr ${cidr.text} overlaps ${source} ${range.text}: an address may belong to a Service and to an import, and kube-proxy in nftables mode drops packets to unallocated addresses, so clients hang instead of being rejected. Choose a ClusterSet CIDR outside of it.`;
    return failing(key, "service-range-overlap", advice);
  }
  if (sources.some(([, list]) => list.some((one) => one.family === cidr.family))) return ok(key);
  return unknown(
    key,
    "No Service range is known: set --service-cidrs, or let the agent list ServiceCIDRs.",
  );
}
