import type { DashboardSpec } from "./panel.ts";

/** The controllers of a cluster. */
export const CLUSTER: DashboardSpec = {
  name: "cluster",
  title: "Controllers",
  about: "The controllers of a cluster: changes, API servers, and what they refuse.",
  targets: "clusterset_controller_build_info",
  rows: [
    {
      title: "State",
      panels: [
        {
          title: "Up",
          kind: "number",
          unit: "short",
          about: "Replicas that answer Prometheus.",
          badBelow: 1,
          queries: [{ expr: 'sum(up{job="clusterset-controller", $of})', legend: "up" }],
        },
        {
          title: "Leaders",
          kind: "number",
          unit: "short",
          about: "One for each cluster.",
          badBelow: 1,
          queries: [{ expr: "sum(clusterset_controller_leader{$of})", legend: "leaders" }],
        },
        {
          title: "Oldest task",
          kind: "number",
          unit: "s",
          about: "Age of the oldest change that is not written. A replica is not ready from 60 s.",
          badFrom: 60,
          queries: [
            { expr: "max(clusterset_controller_oldest_task_age_seconds{$of})", legend: "oldest" },
          ],
        },
        {
          title: "Imports without VIP",
          kind: "number",
          unit: "short",
          about: "ServiceImports that need an address and have none.",
          badFrom: 1,
          queries: [
            { expr: "max(clusterset_controller_imports_without_vip{$of})", legend: "imports" },
          ],
        },
        {
          title: "Held back",
          kind: "number",
          unit: "short",
          about: "Endpoints whose unreadiness is held back after an outage of the control plane.",
          badFrom: 1,
          queries: [
            { expr: "max(clusterset_controller_endpoints_held_back{$of})", legend: "endpoints" },
          ],
        },
      ],
    },
    {
      title: "Changes",
      panels: [
        {
          title: "Changes",
          kind: "graph",
          unit: "ops",
          about: "Reconciles that succeeded, by task.",
          queries: [
            {
              expr: "sum by (task) (rate(clusterset_controller_change_duration_seconds_count{$of}[$__rate_interval]))",
              legend: "{{task}}",
            },
          ],
        },
        {
          title: "From a change to the last write, p99",
          kind: "graph",
          unit: "s",
          about: "Time in the queue included.",
          queries: [
            {
              expr: "histogram_quantile(0.99, sum by (le, task) (rate(clusterset_controller_change_duration_seconds_bucket{$of}[$__rate_interval])))",
              legend: "{{task}}",
            },
          ],
        },
        {
          title: "Queue",
          kind: "graph",
          unit: "short",
          about: "Reconcile keys by state.",
          queries: [
            { expr: "sum by (state) (clusterset_controller_tasks{$of})", legend: "{{state}}" },
          ],
        },
        {
          title: "Failed reconciles",
          kind: "graph",
          unit: "ops",
          about: "By task and reason; they are retried.",
          queries: [
            {
              expr: "sum by (task, reason) (rate(clusterset_controller_task_failures_total{$of}[$__rate_interval]))",
              legend: "{{task}} {{reason}}",
              onlyAfter: "an API server rejects writes",
            },
          ],
        },
      ],
    },
    {
      title: "API servers",
      panels: [
        {
          title: "Requests",
          kind: "graph",
          unit: "reqps",
          about: "By server and verb.",
          queries: [
            {
              expr: "sum by (server, verb) (rate(clusterset_controller_api_requests_total{$of}[$__rate_interval]))",
              legend: "{{server}} {{verb}}",
            },
          ],
        },
        {
          title: "Results",
          kind: "graph",
          unit: "reqps",
          about: "HTTP status, or the reason why there is none.",
          queries: [
            {
              expr: "sum by (server, result) (rate(clusterset_controller_api_requests_total{$of}[$__rate_interval]))",
              legend: "{{server}} {{result}}",
            },
          ],
        },
        {
          title: "Until the answer begins, p99",
          kind: "graph",
          unit: "s",
          about: "Without watches.",
          queries: [
            {
              expr: "histogram_quantile(0.99, sum by (le, server) (rate(clusterset_controller_api_request_duration_seconds_bucket{$of}[$__rate_interval])))",
              legend: "{{server}}",
            },
          ],
        },
        {
          title: "Watches",
          kind: "graph",
          unit: "short",
          about: "Changes of state per interval, of this cluster's API server and of others.",
          queries: [
            {
              expr: "sum by (from, reason) (increase(clusterset_controller_source_states_total{$of}[$__rate_interval]))",
              legend: "{{from}} {{reason}}",
            },
          ],
        },
      ],
    },
    {
      title: "Credentials",
      panels: [
        {
          title: "Until the end of credentials",
          kind: "graph",
          unit: "s",
          about: "Tokens in files are replaced by the kubelet. Those without an end are absent.",
          queries: [
            {
              expr: "min by (cluster, server, member, credential) (clusterset_controller_credential_expiry_timestamp_seconds{$of} - time())",
              legend: "{{cluster}}: {{credential}}, {{server}} {{member}}",
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
          about: "Resident memory of each replica.",
          queries: [
            {
              expr: 'process_resident_memory_bytes{job="clusterset-controller", $of}',
              legend: "{{cluster}} {{instance}}",
            },
          ],
        },
        {
          title: "CPU",
          kind: "graph",
          unit: "percentunit",
          about: "Processors that each replica uses.",
          queries: [
            {
              expr: 'rate(process_cpu_seconds_total{job="clusterset-controller", $of}[$__rate_interval])',
              legend: "{{cluster}} {{instance}}",
            },
          ],
        },
      ],
    },
  ],
};
