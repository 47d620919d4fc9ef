import { exponentialBuckets } from "prom-client";
import type { MetricDefinition } from "../../common/metrics.ts";

/** Prefix of all metric names. */
export const METRIC_PREFIX = "clusterset_controller_";

/** 1 ms to 131 s. */
const BUCKETS = exponentialBuckets(0.001, 2, 18);

/** The histograms. */
export const HISTOGRAMS = {
  changeSeconds: {
    name: "change_duration_seconds",
    help: "Time from a change to the last write that follows from it, in seconds, by task: export (local cluster to its registry), import (registries to the local cluster), status (conditions of ServiceExports), failover (slices for ClusterIPs), property (ClusterProperties), node (startup taints).",
    labelNames: ["task"],
    buckets: BUCKETS,
  },
  requestSeconds: {
    name: "api_request_duration_seconds",
    help: "Time until an API server began its answer, in seconds, without watches, by server (own, registry, peer).",
    labelNames: ["server"],
    buckets: BUCKETS,
  },
} as const satisfies Record<string, MetricDefinition & { readonly buckets: number[] }>;

/** The counters. */
export const COUNTERS = {
  requests: {
    name: "api_requests_total",
    help: "Requests to API servers, by server (own, registry, peer), verb, and result: an HTTP status, or a reason (docs/REASONS.md).",
    labelNames: ["server", "verb", "result"],
  },
  taskFailures: {
    name: "task_failures_total",
    help: "Failed reconciles, by task and reason (docs/REASONS.md).",
    labelNames: ["task", "reason"],
  },
  refusals: {
    name: "refusals_total",
    help: "Rejected parts of objects, counted when first seen, by origin (own, member) and reason.",
    labelNames: ["from", "reason"],
  },
  sourceStates: {
    name: "source_states_total",
    help: "State changes of watches, by origin (own, member), resource and reason.",
    labelNames: ["from", "resource", "reason"],
  },
  eventsLost: {
    name: "events_lost_total",
    help: "Events that were not created, by reason: event-limit, event-queue-full, or why the API server rejected them (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  taintChanges: {
    name: "startup_taint_changes_total",
    help: "Startup taints that the controller added to nodes or removed, by reason: node-restarted (added), agent-ready, agent-overdue (removed).",
    labelNames: ["reason"],
  },
  clusterTurns: {
    name: "cluster_turns_total",
    help: "State changes of clusters, by cluster ID (label member) and new state (stale, alive).",
    labelNames: ["member", "state"],
  },
} as const satisfies Record<string, MetricDefinition>;

/** The gauges. */
export const GAUGES = {
  imports: {
    name: "imports",
    help: "ServiceImports of the local cluster, by reason of their state (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  nearest: {
    name: "exported_imports",
    help: "ServiceImports that a cluster exports, by where their nearest ready endpoints are (local, regional, global, none) and whether this cluster exports them, too (true, false); the leader counts.",
    labelNames: ["nearest", "exported_here"],
  },
  failovers: {
    name: "failover_services",
    help: "Services that request ClusterIP failover, by reason why they have it or not (docs/REASONS.md); the leader counts.",
    labelNames: ["reason"],
  },
  taintedNodes: {
    name: "startup_tainted_nodes",
    help: "Nodes with the startup taint, by reason: agent-awaited, agent-late (for more than a minute); agent-ready, agent-overdue (not removed yet), node-restarted (not added yet); the leader counts.",
    labelNames: ["reason"],
  },
  exports: {
    name: "exports",
    help: "ServiceExports of the local cluster, by status and reason of their condition Ready.",
    labelNames: ["status", "reason"],
  },
  invalid: {
    name: "exports_invalid",
    help: "Invalid ServiceExports of the local cluster, by reason.",
    labelNames: ["reason"],
  },
  conflicts: {
    name: "exports_in_conflict",
    help: "ServiceExports of the local cluster with conflicts, once per reason.",
    labelNames: ["reason"],
  },
  withoutVip: {
    name: "imports_without_vip",
    help: "ServiceImports of the local cluster that need a VIP and have none.",
    labelNames: [],
  },
  refused: {
    name: "refused_parts",
    help: "Parts of objects that are invalid, over a limit or cannot be imported now, by origin (own, member) and reason; /debug lists them by cluster.",
    labelNames: ["from", "reason"],
  },
  omitted: {
    name: "omitted_parts",
    help: "Parts of objects that flags and declarations of this cluster leave out, or that belong to another product, by origin and reason; no fault.",
    labelNames: ["from", "reason"],
  },
  clusterAlive: {
    name: "cluster_alive",
    help: "1 while a cluster renews its Lease, 0 while it is stale, by cluster ID as configured here.",
    labelNames: ["member"],
  },
  clusterDrained: {
    name: "cluster_drained",
    help: "1 while a cluster is drained, 0 otherwise (/debug shows by whom, why and until when).",
    labelNames: ["member"],
  },
  drainEnd: {
    name: "cluster_drain_end_timestamp_seconds",
    help: "End of the drain in force of a cluster, in seconds since 1970; 0: it is not drained.",
    labelNames: ["member"],
  },
  clusterUp: {
    name: "cluster_up",
    help: "1 while the whole registry of a cluster is watched, 0 otherwise; the last known state stays in use.",
    labelNames: ["member"],
  },
  clusterTrusted: {
    name: "cluster_believed",
    help: "1 while the records of a cluster are used, 0 otherwise (/debug shows the reason).",
    labelNames: ["member"],
  },
  credentialExpiry: {
    name: "credential_expiry_timestamp_seconds",
    help: "End of the credentials of the last request to an API server, in seconds since 1970, by server (own, registry, peer), member if it is a peer's, and credential (certificate, token, token-file); absent for those without an end.",
    labelNames: ["server", "member", "credential"],
  },
  records: {
    name: "cluster_exports",
    help: "Records in the registry of a cluster.",
    labelNames: ["member"],
  },
  tasks: {
    name: "tasks",
    help: "Reconcile keys in the work queue, by state: waiting, working, failing (retried later).",
    labelNames: ["state"],
  },
  oldestTask: {
    name: "oldest_task_age_seconds",
    help: "Age of the oldest change that is not written, in seconds: a reconcile key, also of one whose writes fail, or the Lease of the registry; 0 if there is none.",
    labelNames: [],
  },
  heldBack: {
    name: "endpoints_held_back",
    help: "Endpoints whose unreadiness is held back after an outage of the control plane.",
    labelNames: [],
  },
  leader: {
    name: "leader",
    help: "1 if this replica is the leader, 0 otherwise.",
    labelNames: [],
  },
  build: {
    name: "build_info",
    help: "Always 1; labels show version, Node.js version and kind of registry.",
    labelNames: ["version", "node", "registry"],
  },
} as const satisfies Record<string, MetricDefinition>;
