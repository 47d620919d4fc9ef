import { failing, unknown, type Verdict, well } from "./verdict.ts";

/** Where the kernel counts connections of this network namespace, and says how many there may be. */
export const CONNTRACK_FILES = {
  count: "/proc/sys/net/netfilter/nf_conntrack_count",
  limit: "/proc/sys/net/netfilter/nf_conntrack_max",
} as const;

/** How full the connection tracking table is. */
export interface ConntrackFact {
  readonly count: number;
  readonly limit: number;
}

/** Beyond this share, a burst of connections fills the table before anybody has looked at it. */
const NEARLY_FULL = 0.9;

/** What the two files hold; undefined unless both hold numbers. PURE. */
export function parseConntrack(count?: string, limit?: string): ConntrackFact | undefined {
  const fact = { count: Number.parseInt(count ?? "", 10), limit: Number.parseInt(limit ?? "", 10) };
  return Number.isNaN(fact.count) || !(fact.limit > 0) ? undefined : fact;
}

/** Whether there is room for new connections: once there is none, the kernel drops their first packets. PURE. */
export function judgeConntrack(fact: ConntrackFact | undefined): Verdict {
  const place = { check: "conntrack" } as const;
  if (fact === undefined)
    return unknown(place, "The kernel does not say how many connections it tracks.");
  if (fact.count <= NEARLY_FULL * fact.limit) return well(place);
  const advice = `${fact.count} of ${fact.limit} connections are tracked; when the table is full, new ones are dropped. Raise net.netfilter.nf_conntrack_max (kube-proxy: conntrack.maxPerCore), or find who opens so many.`;
  return failing(place, "conntrack-full", advice);
}
