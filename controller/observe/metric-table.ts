import { exponentialBuckets } from "prom-client";
import type { MetricDefinition } from "../../common/metrics.ts";

/** What the name of every metric of the controller starts with. */
export const METRIC_PREFIX = "clusterset_controller_";

/** 1 ms to 131 s. */
const BUCKETS = exponentialBuckets(0.001, 2, 18);

/** The histograms. */
export const HISTOGRAMS = {
  changeSeconds: {
    name: "change_duration_seconds",
    help: "Time from when a change was learned of to when all that follows from it is written, by task: export (our own cluster to its registry), import (registries to our own cluster), status (what an exporter is told).",
    labelNames: ["task"],
    buckets: BUCKETS,
  },
  requestSeconds: {
    name: "api_request_duration_seconds",
    help: "Time that an API server took to begin its answer, watches left out, by whose it is (own, registry, peer).",
    labelNames: ["server"],
    buckets: BUCKETS,
  },
} as const satisfies Record<string, MetricDefinition & { readonly buckets: number[] }>;

/** The counters. */
export const COUNTERS = {
  requests: {
    name: "api_requests_total",
    help: "Requests to API servers, by whose it is (own, registry, peer), verb, and what became of them: an HTTP status, or a reason (docs/REASONS.md).",
    labelNames: ["server", "verb", "result"],
  },
  taskFailures: {
    name: "task_failures_total",
    help: "Times that something could not be written, by task and reason (docs/REASONS.md).",
    labelNames: ["task", "reason"],
  },
  refusals: {
    name: "refusals_total",
    help: "Parts of objects that were refused, each when it was first seen, by whose they are (own, member) and reason.",
    labelNames: ["from", "reason"],
  },
  sourceStates: {
    name: "source_states_total",
    help: "Times that the connection for a resource came into a state, by whose it is (own, member) and reason.",
    labelNames: ["from", "resource", "reason"],
  },
  clusterTurns: {
    name: "cluster_turns_total",
    help: "Times that a cluster of the clusterset became stale, or alive again.",
    labelNames: ["cluster", "state"],
  },
} as const satisfies Record<string, MetricDefinition>;

/** The gauges. */
export const GAUGES = {
  imports: {
    name: "imports",
    help: "ServiceImports of our own cluster, by what was made of them (docs/REASONS.md).",
    labelNames: ["reason"],
  },
  exports: {
    name: "exports",
    help: "ServiceExports of our own cluster, by the status and reason of their condition Ready.",
    labelNames: ["status", "reason"],
  },
  invalid: {
    name: "exports_invalid",
    help: "ServiceExports of our own cluster that are not valid, by reason.",
    labelNames: ["reason"],
  },
  conflicts: {
    name: "exports_in_conflict",
    help: "ServiceExports of our own cluster that others contradict, once for each reason.",
    labelNames: ["reason"],
  },
  withoutVip: {
    name: "imports_without_vip",
    help: "ServiceImports of our own cluster that should have a VIP and have none.",
    labelNames: [],
  },
  refused: {
    name: "refused_parts",
    help: "Parts of objects that are refused now, or cannot be imported, by whose they are (own, member) and reason; /debug says how many of each cluster.",
    labelNames: ["from", "reason"],
  },
  clusterAlive: {
    name: "cluster_alive",
    help: "1 while a cluster of the clusterset renews its Lease, 0 while it is stale. Clusters are called what our operator calls them.",
    labelNames: ["cluster"],
  },
  clusterUp: {
    name: "cluster_up",
    help: "1 while all that a cluster publishes is followed, 0 while it is not; what is known stays.",
    labelNames: ["cluster"],
  },
  clusterBelieved: {
    name: "cluster_believed",
    help: "1 while what a cluster publishes is believed, else 0 (/debug says why).",
    labelNames: ["cluster"],
  },
  records: {
    name: "cluster_exports",
    help: "Exports that lie in a cluster's registry, as far as they are usable.",
    labelNames: ["cluster"],
  },
  tasks: {
    name: "tasks",
    help: "Names that something is to be done about, by state: waiting, working, failing (tried again later).",
    labelNames: ["state"],
  },
  oldestTask: {
    name: "oldest_task_age_seconds",
    help: "Time for which the oldest of them has been due; 0 if there is none.",
    labelNames: [],
  },
  heldBack: {
    name: "endpoints_held_back",
    help: "Endpoints whose unreadiness is held back because it came with an outage of the control plane.",
    labelNames: [],
  },
  leader: {
    name: "leader",
    help: "1 if this replica leads, else 0.",
    labelNames: [],
  },
  build: {
    name: "build_info",
    help: "Always 1; its labels say what runs.",
    labelNames: ["version", "node", "registry"],
  },
} as const satisfies Record<string, MetricDefinition>;
