import type { DashboardSpec } from "./panel.ts";

/** All clusters at a glance: who is alive, and where traffic goes. */
export const CLUSTERSET: DashboardSpec = {
  name: "clusterset",
  title: "Overview",
  about: "All clusters at a glance: which are alive and in rotation, and where their traffic goes.",
  targets: "clusterset_controller_build_info",
  rows: [
    {
      title: "Now",
      panels: [
        {
          title: "Clusters that see each other",
          kind: "number",
          unit: "short",
          about: "Members that every controller sees alive.",
          queries: [
            {
              expr: "count(min by (member) (clusterset_controller_cluster_alive{$of}) == 1)",
              legend: "alive",
            },
          ],
        },
        {
          title: "Stale clusters",
          kind: "number",
          unit: "short",
          about: "Members that a controller sees stale: their endpoints are its last resort.",
          badFrom: 1,
          queries: [
            {
              expr: "sum(1 - min by (member) (clusterset_controller_cluster_alive{$of}))",
              legend: "stale",
            },
          ],
        },
        {
          title: "Drained clusters",
          kind: "number",
          unit: "short",
          about: "Members that are out of rotation on purpose.",
          queries: [
            {
              expr: "sum(max by (member) (clusterset_controller_cluster_drained{$of}))",
              legend: "drained",
            },
          ],
        },
        {
          title: "Ports without endpoints",
          kind: "number",
          unit: "short",
          about: "Import ports that reject connections, of the cluster that has most.",
          badFrom: 1,
          queries: [
            {
              expr: 'max(sum by (cluster, instance) (clusterset_agent_service_ports{tier="none", cluster=~"$cluster"})) or vector(0)',
              legend: "ports",
            },
          ],
        },
        {
          title: "Agents that are not ready",
          kind: "number",
          unit: "short",
          about: "Nodes whose agent is not ready; they keep their last rules.",
          badFrom: 1,
          queries: [
            {
              expr: 'sum(1 - clusterset_agent_ready{cluster=~"$cluster"})',
              legend: "not ready",
            },
          ],
        },
        {
          title: "Clusters without a leader",
          kind: "number",
          unit: "short",
          about: "Clusters without a leading controller: their exports and imports do not change.",
          badFrom: 1,
          queries: [
            {
              expr: "sum(1 - max by (cluster) (clusterset_controller_leader{$of}))",
              legend: "without a leader",
            },
          ],
        },
      ],
    },
    {
      title: "Clusters",
      panels: [
        {
          title: "Alive, as each cluster sees it",
          kind: "graph",
          unit: "short",
          about: "1: renews its Lease. 0: stale.",
          queries: [
            {
              expr: "min by (cluster, member) (clusterset_controller_cluster_alive{$of})",
              legend: "{{member}} seen from {{cluster}}",
            },
          ],
        },
        {
          title: "Became stale or alive",
          kind: "graph",
          unit: "short",
          about: "Changes of state per interval.",
          queries: [
            {
              expr: "sum by (member, state) (increase(clusterset_controller_cluster_turns_total{$of}[$__rate_interval]))",
              legend: "{{member}} {{state}}",
              onlyAfter: "a cluster is stale",
            },
          ],
        },
        {
          title: "Exports",
          kind: "graph",
          unit: "short",
          about: "Records in the registry of each cluster.",
          queries: [
            {
              expr: "max by (member) (clusterset_controller_cluster_exports{$of})",
              legend: "{{member}}",
            },
          ],
        },
        {
          title: "Registries in use",
          kind: "graph",
          unit: "short",
          about: "Controllers that watch, and that use, the registry of each cluster.",
          queries: [
            {
              expr: "sum by (member) (clusterset_controller_cluster_up{$of})",
              legend: "{{member}} watched",
            },
            {
              expr: "sum by (member) (clusterset_controller_cluster_believed{$of})",
              legend: "{{member}} used",
            },
          ],
        },
      ],
    },
    {
      title: "Traffic",
      panels: [
        {
          title: "New connections by cluster",
          kind: "graph",
          unit: "cps",
          about:
            "Connections to ClusterSetIPs, from each cluster to the cluster of their endpoint.",
          queries: [
            {
              expr: 'sum by (cluster, member) (rate(clusterset_agent_connections_total{cluster=~"$cluster"}[$__rate_interval]))',
              legend: "{{cluster}} to {{member}}",
            },
          ],
        },
        {
          title: "New connections by tier",
          kind: "graph",
          unit: "cps",
          about: "The same by the tier of that cluster for imports without selectors.",
          queries: [
            {
              expr: 'sum by (cluster, tier) (rate(clusterset_agent_connections_total{cluster=~"$cluster"}[$__rate_interval]))',
              legend: "{{cluster}} {{tier}}",
            },
          ],
        },
        {
          title: "Import ports by tier",
          kind: "graph",
          unit: "short",
          about: "Of an average node of each cluster.",
          queries: [
            {
              expr: 'avg by (cluster, tier) (sum by (cluster, instance, tier) (clusterset_agent_service_ports{cluster=~"$cluster"}))',
              legend: "{{cluster}} {{tier}}",
            },
          ],
        },
        {
          title: "Nodes that get no answer",
          kind: "graph",
          unit: "short",
          about: "Clusters and endpoints that do not answer nodes, and are used last.",
          queries: [
            {
              expr: 'sum by (cluster, scope) (clusterset_agent_health_unanswering{cluster=~"$cluster"})',
              legend: "{{cluster}} {{scope}}",
            },
          ],
        },
      ],
    },
  ],
};
