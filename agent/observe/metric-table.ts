import { exponentialBuckets } from "prom-client";
import type { MetricDefinition } from "../../common/metrics.ts";

/** What the name of every metric of the agent starts with. */
export const METRIC_PREFIX = "clusterset_agent_";

/** 1 ms to 16 s: kube-proxy's own for one sync. */
const SYNC_BUCKETS = exponentialBuckets(0.001, 2, 15);
/** 1 ms to 131 s. kube-proxy starts at 250 ms, which hides everything that is quick. */
const LATENCY_BUCKETS = exponentialBuckets(0.001, 2, 18);

/** The histograms. */
export const HISTOGRAMS = {
  syncSeconds: {
    name: "sync_duration_seconds",
    help: "Duration of one successful sync pass in seconds, by scope: changed writes what has changed, complete reads back and compares everything.",
    labelNames: ["family", "scope"],
    buckets: SYNC_BUCKETS,
  },
  latencySeconds: {
    name: "network_programming_duration_seconds",
    help: "Time from the observation of a change to its acceptance by the kernel, in seconds; objects of the initial lists do not count.",
    labelNames: ["family"],
    buckets: LATENCY_BUCKETS,
  },
  sweepSeconds: {
    name: "conntrack_sweep_duration_seconds",
    help: "Duration of one scan of the conntrack table, including the deletion of stale entries, in seconds.",
    labelNames: ["family"],
    buckets: SYNC_BUCKETS,
  },
} as const satisfies Record<string, MetricDefinition & { readonly buckets: number[] }>;

/** The counters. */
export const COUNTERS = {
  syncFailures: {
    name: "sync_failures_total",
    help: "Failed sync passes, by error code (docs/ERRORS.md; unknown for others).",
    labelNames: ["family", "code"],
  },
  driftRepairs: {
    name: "drift_repairs_total",
    help: "Managed kernel objects that other programs changed, counted when they are repaired, by reason (docs/REASONS.md).",
    labelNames: ["family", "reason"],
  },
  checkFailures: {
    name: "drift_check_failures_total",
    help: "Failed drift checks, by error code.",
    labelNames: ["family", "code"],
  },
  attempts: {
    name: "isolation_trials_total",
    help: "Transactions attempted in the search for services that the kernel rejects, by outcome (accepted, refused).",
    labelNames: ["family", "outcome"],
  },
  respawns: {
    name: "restore_respawns_total",
    help: "Times that the long-lived iptables-restore, or nft with IPVS, was replaced because it exited or hung.",
    labelNames: ["family"],
  },
  written: {
    name: "kernel_objects_written_total",
    help: "Kernel objects (rules, chains) written.",
    labelNames: ["family"],
  },
  deleted: {
    name: "kernel_objects_deleted_total",
    help: "Kernel objects (rules, chains) deleted.",
    labelNames: ["family"],
  },
  rejections: {
    name: "rejections_total",
    help: "Parts of objects that were rejected, counted when first observed, by reason (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  entriesDeleted: {
    name: "conntrack_deleted_entries_total",
    help: "Deleted conntrack entries, by reason (docs/REASONS.md).",
    labelNames: ["family", "protocol", "reason"],
  },
  sweepFailures: {
    name: "conntrack_failures_total",
    help: "Failed conntrack table scans, by access method (netlink, conntrack) and error code.",
    labelNames: ["family", "by", "code"],
  },
  sourceStates: {
    name: "source_states_total",
    help: "State changes of the connection for a resource of the API server, by state (docs/REASONS.md).",
    labelNames: ["resource", "reason"],
  },
  unanswered: {
    name: "health_verdicts_total",
    help: "Endpoints and clusters that stopped answering this node, by scope (endpoint, cluster).",
    labelNames: ["scope"],
  },
  probes: {
    name: "health_probes_total",
    help: "Probes of endpoints that are suspected or known not to answer, and of others to compare them with, by result (accepted, refused, silent, unknown).",
    labelNames: ["result"],
  },
  healthFailures: {
    name: "health_failures_total",
    help: "Failed attempts to read or write what shows silent endpoints, by error code.",
    labelNames: ["code"],
  },
  tierChanges: {
    name: "tier_changes_total",
    help: "Moves of import ports from one tier to another; none means that the port rejects connections.",
    labelNames: ["family", "from", "to"],
  },
  connections: {
    name: "connections_total",
    help: "New connections to ClusterSetIPs, by the cluster of their endpoint (unknown: no known one) and its tier for imports without selectors, as the kernel has counted them since its table was written; absent while it cannot be read.",
    labelNames: ["family", "member", "tier"],
  },
} as const satisfies Record<string, MetricDefinition>;

/** The gauges. */
export const GAUGES = {
  lastSync: {
    name: "sync_last_success_timestamp_seconds",
    help: "Unix time of the last successful sync pass.",
    labelNames: ["family"],
  },
  lastQueued: {
    name: "sync_last_queued_timestamp_seconds",
    help: "Unix time at which a change was last queued; a change is waiting if this is later than a family's last success.",
    labelNames: [],
  },
  waiting: {
    name: "oldest_waiting_change_age_seconds",
    help: "Age of the oldest change that is not programmed yet, in seconds; 0 if all are.",
    labelNames: ["family"],
  },
  inSyncAge: {
    name: "kernel_in_sync_age_seconds",
    help: "Time since the kernel was last known to have the planned rules, by a write or a drift check (every second to every minute), in seconds; absent before the first.",
    labelNames: ["family"],
  },
  ready: {
    name: "ready",
    help: "1 while /readyz answers that the node forwards as planned, else 0.",
    labelNames: [],
  },
  imports: {
    name: "imports",
    help: "Imports, by the reason of their plan (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  limited: {
    name: "limited_imports",
    help: "Imports with slices that are left out because of a limit, as a whole or in part, by reason (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  ports: {
    name: "service_ports",
    help: "Import ports, once per family, by active tier (none: connections are rejected) and reason.",
    labelNames: ["tier", "reason"],
  },
  endpoints: {
    name: "endpoints",
    help: "Endpoints that receive traffic, once for each port, by tier.",
    labelNames: ["tier"],
  },
  quarantined: {
    name: "set_aside_services",
    help: "Quarantined import ports: the kernel or its tool rejects them, in full or with session affinity; by reason (docs/REASONS.md).",
    labelNames: ["family", "reason"],
  },
  retained: {
    name: "doubted_services",
    help: "Services of an earlier run whose rules are kept, because the initial lists are missing most of them (for 30 seconds) or flags do not allow their VIPs; else 0.",
    labelNames: ["family"],
  },
  rejected: {
    name: "rejected_parts",
    help: "Parts of objects that are rejected now, by reason (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  sourceWatching: {
    name: "source_watching",
    help: "1 while the watch of a resource of the API server is established, else 0; the last known state is used meanwhile.",
    labelNames: ["resource"],
  },
  credentialExpiry: {
    name: "credential_expiry_timestamp_seconds",
    help: "End of the credentials of the last request to the API server, in seconds since 1970, by credential (certificate, token, token-file); absent for those without an end.",
    labelNames: ["credential"],
  },
  sourceObjects: {
    name: "source_objects",
    help: "Valid objects of a resource of the API server.",
    labelNames: ["resource"],
  },
  brokenFiles: {
    name: "manifest_files_broken",
    help: "Manifest files that cannot be read or parsed now; their last valid content is used.",
    labelNames: [],
  },
  affinityLimit: {
    name: "affinity_clients_limit",
    help: "Clients per endpoint that the kernel keeps for session affinity (xt_recent, ip_list_tot).",
    labelNames: [],
  },
  unanswering: {
    name: "health_unanswering",
    help: "Verdicts on endpoints that do not answer this node, and are used last, by scope (endpoint, group, cluster).",
    labelNames: ["scope"],
  },
  uplinkSilent: {
    name: "health_uplink_silent",
    help: "1 while nothing of any other cluster answers this node, so that its own uplink may be at fault; else 0.",
    labelNames: [],
  },
  blind: {
    name: "health_blind",
    help: "1 for each cluster that answers clients of this node, but not its probes; absent for others.",
    labelNames: ["member"],
  },
  preflight: {
    name: "preflight_failing",
    help: "Result of each preflight check of the node: 1 failed, 0 passed; absent if unknown. /readyz?verbose has details (docs/guides/preflight.md).",
    labelNames: ["check", "family"],
  },
  conntrackEntries: {
    name: "conntrack_entries",
    help: "Connections that the kernel tracks in the node's network namespace, as of the last preflight (every minute).",
    labelNames: [],
  },
  conntrackLimit: {
    name: "conntrack_entries_limit",
    help: "Maximum number of tracked connections; beyond it, the kernel drops new ones.",
    labelNames: [],
  },
  build: {
    name: "build_info",
    help: "Always 1; the labels are the version, the Node.js version and the backend.",
    labelNames: ["version", "node", "backend"],
  },
} as const satisfies Record<string, MetricDefinition>;
