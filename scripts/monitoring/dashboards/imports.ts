import type { DashboardSpec } from "./panel.ts";

/** Imports: where their traffic goes, and why. */
export const IMPORTS: DashboardSpec = {
  name: "imports",
  title: "Imports",
  about:
    "Where the traffic of imports goes, and why. Metrics have no names of imports: kubectl and /plan/NAMESPACE/NAME of an agent show a single one.",
  targets: "clusterset_agent_build_info",
  rows: [
    {
      title: "Tiers",
      panels: [
        {
          title: "Ports by tier",
          kind: "graph",
          unit: "short",
          about: "Import ports of an average node. none: connections are rejected.",
          queries: [
            {
              expr: "avg by (tier) (sum by (instance, tier) (clusterset_agent_service_ports{$of}))",
              legend: "{{tier}}",
            },
          ],
        },
        {
          title: "Ports by reason",
          kind: "graph",
          unit: "short",
          about: "Why a port has its tier, or none.",
          queries: [
            {
              expr: "avg by (reason) (sum by (instance, reason) (clusterset_agent_service_ports{$of}))",
              legend: "{{reason}}",
            },
          ],
        },
        {
          title: "Moves between tiers",
          kind: "graph",
          unit: "short",
          about: "Ports that moved, per interval, over all nodes, once per family.",
          queries: [
            {
              expr: "sum by (from, to) (increase(clusterset_agent_tier_changes_total{$of}[$__rate_interval]))",
              legend: "{{from}} to {{to}}",
            },
          ],
        },
        {
          title: "Endpoints by tier",
          kind: "graph",
          unit: "short",
          about: "Endpoints that receive traffic, of an average node.",
          queries: [
            {
              expr: "avg by (tier) (clusterset_agent_endpoints{$of})",
              legend: "{{tier}}",
            },
          ],
        },
      ],
    },
    {
      title: "Imports and exports",
      panels: [
        {
          title: "Imports on nodes",
          kind: "graph",
          unit: "short",
          about: "By the reason of their plan.",
          queries: [
            { expr: "avg by (reason) (clusterset_agent_imports{$of})", legend: "{{reason}}" },
          ],
        },
        {
          title: "Imports of controllers",
          kind: "graph",
          unit: "short",
          about: "By the reason of their state.",
          queries: [
            {
              expr: 'max by (cluster, reason) (clusterset_controller_imports{cluster=~"$cluster"})',
              legend: "{{cluster}} {{reason}}",
            },
          ],
        },
        {
          title: "Nearest ready endpoints",
          kind: "graph",
          unit: "short",
          about:
            "Where the nearest ready endpoints of exported services are, seen from each cluster.",
          queries: [
            {
              expr: 'sum by (cluster, nearest) (clusterset_controller_exported_imports{cluster=~"$cluster"} * on (cluster, instance) group_left () clusterset_controller_leader)',
              legend: "{{cluster}} {{nearest}}",
            },
          ],
        },
        {
          title: "Exports",
          kind: "graph",
          unit: "short",
          about: "ServiceExports by their condition Ready.",
          queries: [
            {
              expr: 'max by (cluster, status, reason) (clusterset_controller_exports{cluster=~"$cluster"})',
              legend: "{{cluster}} {{status}} {{reason}}",
            },
          ],
        },
        {
          title: "Conflicts and invalid exports",
          kind: "graph",
          unit: "short",
          about: "ServiceExports by reason.",
          queries: [
            {
              expr: 'max by (cluster, reason) (clusterset_controller_exports_in_conflict{cluster=~"$cluster"})',
              legend: "{{cluster}} conflict: {{reason}}",
              onlyAfter: "two clusters export different ports",
            },
            {
              expr: 'max by (cluster, reason) (clusterset_controller_exports_invalid{cluster=~"$cluster"})',
              legend: "{{cluster}} invalid: {{reason}}",
              onlyAfter: "an export names no Service",
            },
          ],
        },
      ],
    },
    {
      title: "Left out",
      panels: [
        {
          title: "Rejected on nodes",
          kind: "graph",
          unit: "short",
          about: "Parts of objects; the agent's log names them.",
          queries: [
            {
              expr: "max by (reason) (clusterset_agent_rejected_parts{$of})",
              legend: "{{reason}}",
              onlyAfter: "an object has an invalid part",
            },
          ],
        },
        {
          title: "Refused by controllers",
          kind: "graph",
          unit: "short",
          about: "Parts of objects that are invalid or over a limit; /debug names them.",
          queries: [
            {
              expr: 'max by (cluster, from, reason) (clusterset_controller_refused_parts{cluster=~"$cluster"})',
              legend: "{{cluster}} {{from}} {{reason}}",
              onlyAfter: "an object has an invalid part",
            },
          ],
        },
      ],
    },
  ],
};
