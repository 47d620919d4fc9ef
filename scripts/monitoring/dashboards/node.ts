import type { DashboardSpec } from "./panel.ts";

const PROCESS = 'job="clusterset-agent", $of';

/** The agents of nodes. */
export const NODE: DashboardSpec = {
  name: "node",
  title: "Nodes",
  about:
    "The agents of nodes: whether the kernel has the planned rules, and how fast it gets them.",
  targets: "clusterset_agent_build_info",
  rows: [
    {
      title: "State",
      panels: [
        {
          title: "Up",
          kind: "number",
          unit: "short",
          about: "Agents that answer Prometheus.",
          badBelow: 1,
          queries: [{ expr: 'sum(up{job="clusterset-agent", $of})', legend: "up" }],
        },
        {
          title: "Not ready",
          kind: "number",
          unit: "short",
          about: "Agents that are not ready.",
          badFrom: 1,
          queries: [{ expr: "sum(1 - clusterset_agent_ready{$of})", legend: "not ready" }],
        },
        {
          title: "Last in sync",
          kind: "number",
          unit: "s",
          about: "Longest time since a kernel was last known to have the planned rules.",
          badFrom: 180,
          queries: [
            { expr: "max(clusterset_agent_kernel_in_sync_age_seconds{$of})", legend: "age" },
          ],
        },
        {
          title: "Oldest waiting change",
          kind: "number",
          unit: "s",
          about: "A node is not ready from 60 s.",
          badFrom: 60,
          queries: [
            { expr: "max(clusterset_agent_oldest_waiting_change_age_seconds{$of})", legend: "age" },
          ],
        },
        {
          title: "Failing preflight checks",
          kind: "number",
          unit: "short",
          about: "Checks of nodes that fail; /readyz?verbose has the advice.",
          badFrom: 1,
          queries: [{ expr: "sum(clusterset_agent_preflight_failing{$of})", legend: "checks" }],
        },
        {
          title: "Connection tracking",
          kind: "number",
          unit: "percentunit",
          about: "Use of the fullest table; a full one drops new connections.",
          badFrom: 0.9,
          queries: [
            {
              expr: "max(clusterset_agent_conntrack_entries{$of} / clusterset_agent_conntrack_entries_limit{$of})",
              legend: "used",
            },
          ],
        },
      ],
    },
    {
      title: "Rules",
      panels: [
        {
          title: "Syncs",
          kind: "graph",
          unit: "ops",
          about: "Successful passes.",
          queries: [
            {
              expr: "sum by (family, scope) (rate(clusterset_agent_sync_duration_seconds_count{$of}[$__rate_interval]))",
              legend: "{{family}} {{scope}}",
            },
          ],
        },
        {
          title: "Sync, p99",
          kind: "graph",
          unit: "s",
          about: "Duration of a pass.",
          queries: [
            {
              expr: "histogram_quantile(0.99, sum by (le, family, scope) (rate(clusterset_agent_sync_duration_seconds_bucket{$of}[$__rate_interval])))",
              legend: "{{family}} {{scope}}",
            },
          ],
        },
        {
          title: "Network programming",
          kind: "graph",
          unit: "ops",
          about: "Changes that became live.",
          queries: [
            {
              expr: "sum by (family) (rate(clusterset_agent_network_programming_duration_seconds_count{$of}[$__rate_interval]))",
              legend: "{{family}}",
            },
          ],
        },
        {
          title: "Network programming, p99",
          kind: "graph",
          unit: "s",
          about: "From the observation of a change to its acceptance by the kernel.",
          queries: [
            {
              expr: "histogram_quantile(0.99, sum by (le, family) (rate(clusterset_agent_network_programming_duration_seconds_bucket{$of}[$__rate_interval])))",
              legend: "{{family}}",
            },
          ],
        },
        {
          title: "Kernel objects",
          kind: "graph",
          unit: "ops",
          about: "Rules, chains or elements written and deleted.",
          queries: [
            {
              expr: "sum by (family) (rate(clusterset_agent_kernel_objects_written_total{$of}[$__rate_interval]))",
              legend: "{{family}} written",
            },
            {
              expr: "sum by (family) (rate(clusterset_agent_kernel_objects_deleted_total{$of}[$__rate_interval]))",
              legend: "{{family}} deleted",
            },
          ],
        },
        {
          title: "Repairs and failures",
          kind: "graph",
          unit: "short",
          about: "Drift that was repaired, and failed passes, per interval.",
          queries: [
            {
              expr: "sum by (instance, reason) (increase(clusterset_agent_drift_repairs_total{$of}[$__rate_interval]))",
              legend: "{{instance}} repaired: {{reason}}",
              onlyAfter: "another program flushes rules",
            },
            {
              expr: "sum by (instance, code) (increase(clusterset_agent_sync_failures_total{$of}[$__rate_interval]))",
              legend: "{{instance}} failed: {{code}}",
              onlyAfter: "a pass fails",
            },
          ],
        },
      ],
    },
    {
      title: "Input and endpoints",
      panels: [
        {
          title: "Watches",
          kind: "graph",
          unit: "short",
          about: "Nodes that watch each resource.",
          queries: [
            {
              expr: "sum by (resource) (clusterset_agent_source_watching{$of})",
              legend: "{{resource}}",
            },
          ],
        },
        {
          title: "Do not answer",
          kind: "graph",
          unit: "short",
          about: "Endpoints and clusters that do not answer a node, and are used last.",
          queries: [
            {
              expr: "sum by (instance, scope) (clusterset_agent_health_unanswering{$of})",
              legend: "{{instance}} {{scope}}",
            },
          ],
        },
        {
          title: "Probes",
          kind: "graph",
          unit: "ops",
          about: "Of endpoints that may not answer, by result.",
          queries: [
            {
              expr: "sum by (result) (rate(clusterset_agent_health_probes_total{$of}[$__rate_interval]))",
              legend: "{{result}}",
              onlyAfter: "an endpoint stops answering",
            },
          ],
        },
        {
          title: "Deleted conntrack entries",
          kind: "graph",
          unit: "ops",
          about: "By reason.",
          queries: [
            {
              expr: "sum by (reason) (rate(clusterset_agent_conntrack_deleted_entries_total{$of}[$__rate_interval]))",
              legend: "{{reason}}",
              onlyAfter: "an endpoint stops answering",
            },
          ],
        },
      ],
    },
    {
      title: "Process",
      panels: [
        {
          title: "Memory",
          kind: "graph",
          unit: "bytes",
          about: "Resident memory of each agent.",
          queries: [{ expr: `process_resident_memory_bytes{${PROCESS}}`, legend: "{{instance}}" }],
        },
        {
          title: "CPU",
          kind: "graph",
          unit: "percentunit",
          about: "Processors that each agent uses.",
          queries: [
            {
              expr: `rate(process_cpu_seconds_total{${PROCESS}}[$__rate_interval])`,
              legend: "{{instance}}",
            },
          ],
        },
      ],
    },
  ],
};
