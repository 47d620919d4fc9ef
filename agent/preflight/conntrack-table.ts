import { byCount } from "../../api/count.ts";
import { type Finding, failing, ok, unknown } from "./finding.ts";

/** Where the kernel reports the size and the limit of this network namespace's connection tracking table. */
export const CONNTRACK_FILES = {
  count: "/proc/sys/net/netfilter/nf_conntrack_count",
  limit: "/proc/sys/net/netfilter/nf_conntrack_max",
} as const;

/** How full the connection tracking table is, in entries. */
export interface ConntrackFact {
  readonly count: number;
  readonly limit: number;
}

/** Above this share, a burst of connections can fill the table before an operator reacts. */
const NEARLY_FULL = 0.9;

/** Parses the two files; undefined unless both hold numbers. */
export function parseConntrack(count?: string, limit?: string): ConntrackFact | undefined {
  const fact = { count: Number.parseInt(count ?? "", 10), limit: Number.parseInt(limit ?? "", 10) };
  return Number.isNaN(fact.count) || !(fact.limit > 0) ? undefined : fact;
}

/** Whether there is room for new connections: the kernel drops the first packet of a connection that finds none. */
export function checkConntrack(fact: ConntrackFact | undefined): Finding {
  const key = { check: "conntrack" } as const;
  if (fact === undefined)
    return unknown(key, `Cannot read ${CONNTRACK_FILES.count} and ${CONNTRACK_FILES.limit}.`);
  const { count, limit } = fact;
  if (count <= NEARLY_FULL * limit) return ok(key);
  const advice = `The connection tracking table holds ${count} of at most ${limit} ${byCount(limit, "entry", "entries")}; when it is full, new connections are dropped. Raise net.netfilter.nf_conntrack_max (kube-proxy: conntrack.maxPerCore), or find the client that opens so many connections.`;
  return failing(key, "conntrack-full", advice);
}
