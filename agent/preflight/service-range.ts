import type { Family } from "../../api/address.ts";
import { type Cidr, isCidr, overlap, parseCidr } from "../../api/cidr.ts";
import type { Outcome } from "./sight.ts";
import { failing, unknown, type Verdict, well } from "./verdict.ts";

/**
 * The program that lists the one chain in which kube-proxy in nftables mode drops what is addressed to its Service
 * ranges and is nobody's. Only that chain: its sets grow with the cluster.
 */
export function serviceRangeQuery(family: Family): [string, ...string[]] {
  const nft = family === "IPv4" ? "ip" : "ip6";
  return ["nft", "list", "chain", nft, "kube-proxy", "cluster-ips-check"];
}

/** Ranges that kube-proxy drops the rest of; none without a kube-proxy in nftables mode. PURE. */
export function parseServiceRanges({ stdout }: Outcome): Cidr[] {
  const drops = stdout.matchAll(/^\s*ip6? daddr (?:\{([^}]*)\}|(\S+)) drop\b/gm);
  return [...drops].flatMap(([, set, one]) =>
    (set ?? one ?? "")
      .split(",")
      .map((range) => parseCidr(range.trim()))
      .filter((range) => isCidr(range)),
  );
}

/** Service ranges, by who told of them. */
export interface ServiceRangeFact {
  /** What the operator named. */
  readonly flag: readonly Cidr[];
  /** What was found in kube-proxy's table; none, too, if it could not be looked at. */
  readonly kubeProxy: readonly Cidr[];
  /** What the cluster's ServiceCIDR objects say; none, too, if it has none, or they may not be read. */
  readonly objects: readonly Cidr[];
}

/**
 * Whether the ClusterSet CIDR is apart from the Service ranges. If not, an address may be a Service's and an
 * import's at once, and what nobody serves is dropped by kube-proxy in nftables mode: clients hang where our guard
 * would refuse them. In its other modes kube-proxy does not know its range, and leaves nothing to be seen; the API
 * server does (KEP-1880). PURE.
 */
export function judgeServiceRange(cidr: Cidr, ranges: ServiceRangeFact): Verdict {
  const place = { check: "service-range", family: cidr.family } as const;
  const told = [
    ["kube-proxy's Service range", ranges.kubeProxy],
    ["the cluster's ServiceCIDR", ranges.objects],
    ["--service-cidrs", ranges.flag],
  ] as const;
  for (const [who, list] of told) {
    const range = list.find((one) => overlap(one, cidr));
    if (range === undefined) continue;
    const advice = `--clusterset-cidr ${cidr.text} overlaps ${who} ${range.text}: one address may be a Service's and an import's, and kube-proxy in nftables mode drops what it does not know, so that clients hang instead of being refused. Choose a ClusterSet CIDR outside of it.`;
    return failing(place, "service-range-overlap", advice);
  }
  if (told.some(([, list]) => list.some((one) => one.family === cidr.family))) return well(place);
  return unknown(
    place,
    "No Service range is known: set --service-cidrs, or let the agent list ServiceCIDRs.",
  );
}
