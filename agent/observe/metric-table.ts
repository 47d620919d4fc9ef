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
    help: "Time that one successful pass over the kernel took, by whether it wrote what had changed or read back and compared everything.",
    labelNames: ["family", "scope"],
    buckets: SYNC_BUCKETS,
  },
  latencySeconds: {
    name: "network_programming_duration_seconds",
    help: "Time from when the agent learned of a change to when the kernel had it; what was there at the start is no change.",
    labelNames: ["family"],
    buckets: LATENCY_BUCKETS,
  },
  sweepSeconds: {
    name: "conntrack_sweep_duration_seconds",
    help: "Time of one walk through the connection tracking table, deletions included.",
    labelNames: ["family"],
    buckets: SYNC_BUCKETS,
  },
} as const satisfies Record<string, MetricDefinition & { readonly buckets: number[] }>;

/** The counters. */
export const COUNTERS = {
  syncFailures: {
    name: "sync_failures_total",
    help: "Passes over the kernel that failed, by error code (docs/ERRORS.md; unknown for others).",
    labelNames: ["family", "code"],
  },
  driftRepairs: {
    name: "drift_repairs_total",
    help: "Kernel objects of ours that somebody else had changed, each when that was found and repaired, by reason (docs/REASONS.md).",
    labelNames: ["family", "reason"],
  },
  lookFailures: {
    name: "drift_check_failures_total",
    help: "Times that it could not be checked whether somebody else has changed our rules, by error code.",
    labelNames: ["family", "code"],
  },
  trials: {
    name: "isolation_trials_total",
    help: "Transactions that were made to find what the kernel refuses, by outcome (accepted, refused).",
    labelNames: ["family", "outcome"],
  },
  respawns: {
    name: "restore_respawns_total",
    help: "Times that iptables-restore, or nft with IPVS, was given up because it had ended or hung.",
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
    help: "Parts of objects that were refused, each when it was first seen, by reason (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  entriesDeleted: {
    name: "conntrack_deleted_entries_total",
    help: "Entries of connection tracking that were deleted, by reason (docs/REASONS.md).",
    labelNames: ["family", "protocol", "reason"],
  },
  sweepFailures: {
    name: "conntrack_failures_total",
    help: "Walks through the connection tracking table that failed, by how it was reached (netlink, conntrack) and error code.",
    labelNames: ["family", "by", "code"],
  },
  sourceStates: {
    name: "source_states_total",
    help: "Times that the connection for a resource of the API server came into a state (docs/REASONS.md).",
    labelNames: ["resource", "reason"],
  },
  tierChanges: {
    name: "tier_changes_total",
    help: "Times that a port of an import moved from one tier to another; none stands for rejecting connections.",
    labelNames: ["from", "to"],
  },
} as const satisfies Record<string, MetricDefinition>;

/** The gauges. */
export const GAUGES = {
  lastSync: {
    name: "sync_last_success_timestamp_seconds",
    help: "Time of day of the last successful pass over the kernel.",
    labelNames: ["family"],
  },
  lastQueued: {
    name: "sync_last_queued_timestamp_seconds",
    help: "Time of day at which a change was last queued; later than a family's last success means that it waits.",
    labelNames: [],
  },
  waiting: {
    name: "oldest_waiting_change_age_seconds",
    help: "Age of the oldest change that the kernel does not have yet; 0 if it has all.",
    labelNames: ["family"],
  },
  imports: {
    name: "imports",
    help: "Imports, by what became of them (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  ports: {
    name: "service_ports",
    help: "Ports of imports, once per family, by the tier that takes their traffic (none: they reject) and why.",
    labelNames: ["tier", "reason"],
  },
  endpoints: {
    name: "endpoints",
    help: "Endpoints that take traffic, once for each port that they take it for, by tier.",
    labelNames: ["tier"],
  },
  setAside: {
    name: "set_aside_services",
    help: "Ports that the kernel or its tool refuses, in full or with session affinity, by reason (docs/REASONS.md).",
    labelNames: ["family", "reason"],
  },
  doubted: {
    name: "doubted_services",
    help: "Services that nothing told of when the agent started, though the kernel had rules of most of them; the rules stay for 30 seconds. 0 after that.",
    labelNames: ["family"],
  },
  rejected: {
    name: "rejected_parts",
    help: "Parts of objects that are refused now, by reason (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  sourceWatching: {
    name: "source_watching",
    help: "1 while changes of a resource of the API server arrive, else 0; what is known stays all the same.",
    labelNames: ["resource"],
  },
  sourceObjects: {
    name: "source_objects",
    help: "Objects of a resource of the API server that are known and usable.",
    labelNames: ["resource"],
  },
  brokenFiles: {
    name: "manifest_files_broken",
    help: "Manifest files that cannot be read or parsed now; what they held before is kept.",
    labelNames: [],
  },
  affinityLimit: {
    name: "affinity_clients_limit",
    help: "Clients per endpoint that the kernel remembers for session affinity (xt_recent, ip_list_tot).",
    labelNames: [],
  },
  preflight: {
    name: "preflight_failing",
    help: "1 while a check of the node around the agent fails, 0 while it is well, absent while it cannot be told (/readyz?verbose, docs/guides/preflight.md).",
    labelNames: ["check", "family"],
  },
  conntrackEntries: {
    name: "conntrack_entries",
    help: "Connections that the kernel tracks in the node's network namespace, as of the last look (every minute).",
    labelNames: [],
  },
  conntrackLimit: {
    name: "conntrack_entries_limit",
    help: "Connections that it may track; beyond, new ones are dropped.",
    labelNames: [],
  },
  build: {
    name: "build_info",
    help: "Always 1; its labels say what runs.",
    labelNames: ["version", "node", "backend"],
  },
} as const satisfies Record<string, MetricDefinition>;
