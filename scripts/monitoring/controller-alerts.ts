import { type Alert, IN_CLUSTER, JOBS } from "./alert.ts";

/** Each replica reports; a standby may lag. */
const MEMBER = `Cluster {{ $labels.member }}, seen from{{ with $labels.cluster }} cluster {{ . }}{{ else }} here{{ end }},`;

/** Lists that lacked most objects in the last 15 minutes. */
const doubtful = (program: "agent" | "controller"): string =>
  `max by (cluster, job, resource) (increase(clusterset_${program}_source_states_total{reason="doubtful"}[15m])) > 0`;

/** Alerts about the controllers, and what they see of the other clusters. */
export const CONTROLLER_ALERTS: readonly Alert[] = [
  {
    alert: "ClustersetControllerDown",
    expr: `absent(up{job="${JOBS.controller}"} == 1)`,
    for: "15m",
    severity: "critical",
    summary: "Prometheus scrapes no clusterset-controller.",
    description:
      "No clusterset-controller has answered Prometheus for 15 minutes. Imports stay as they are; if the controllers are down, other clusters treat this one as stale, and its endpoints are their last resort.",
    runbook: "docs/guides/monitoring.md#controllers-are-down",
  },
  {
    alert: "ClustersetControllerNoLeader",
    expr: "sum by (cluster) (clusterset_controller_leader) < 1",
    for: "5m",
    severity: "critical",
    summary: "No replica of clusterset-controller is the leader.",
    description: `No clusterset-controller${IN_CLUSTER} has been the leader for 5 minutes: exports and imports do not change, and other clusters treat this one as stale.`,
    runbook: "docs/guides/monitoring.md#controllers-are-down",
  },
  {
    alert: "ClustersetControllerStuck",
    expr: "max by (cluster) (clusterset_controller_oldest_task_age_seconds) > 60",
    for: "5m",
    severity: "warning",
    summary: "A clusterset-controller cannot write a change.",
    description: `The oldest change of the clusterset-controller${IN_CLUSTER} has waited for {{ $value | humanizeDuration }}. clusterset_controller_task_failures_total and the log name the reason.`,
    runbook: "docs/guides/mesh-or-hub.md#failures",
  },
  {
    alert: "ClustersetClusterStale",
    expr: "min by (cluster, member) (clusterset_controller_cluster_alive) == 0",
    for: "2m",
    severity: "critical",
    summary: "A cluster is stale: its endpoints are the last resort.",
    description: `${MEMBER} has not renewed its Lease: it is down, or cannot be reached. New connections go to its endpoints only if no other cluster has one.`,
    runbook: "docs/guides/mesh-or-hub.md#failures",
  },
  {
    alert: "ClustersetRegistryUnwatched",
    expr: "max by (cluster, member) (clusterset_controller_cluster_up) == 0",
    for: "10m",
    severity: "warning",
    summary: "The registry of a cluster cannot be watched.",
    description: `${MEMBER} has had a registry that no replica can watch for 10 minutes. Its last known exports stay in use.`,
    runbook: "docs/guides/mesh-or-hub.md#failures",
  },
  {
    alert: "ClustersetRegistryRefused",
    expr: "max by (cluster, member) (clusterset_controller_cluster_believed) == 0",
    for: "5m",
    severity: "warning",
    summary: "The registry of a cluster is refused.",
    description: `${MEMBER} has a registry that is not used: another ID, another clusterset, or no endpoint CIDRs are declared. /debug names the reason.`,
    runbook: "docs/guides/mesh-or-hub.md#failures",
  },
  {
    alert: "ClustersetRegistryPartsRefused",
    expr: 'max by (cluster, reason) (clusterset_controller_refused_parts{from="member"}) > 0',
    for: "15m",
    severity: "warning",
    summary: "Objects of another cluster's registry are invalid, or over a limit.",
    description: `{{ $value }} parts of other clusters' exports have not been imported${IN_CLUSTER} for 15 minutes ({{ $labels.reason }}). /debug names the cluster.`,
    runbook: "docs/guides/mesh-or-hub.md#trust-model",
  },
  {
    alert: "ClustersetMassLossUnconfirmed",
    expr: `${doubtful("agent")} or ${doubtful("controller")} or max by (cluster, job) (max_over_time(clusterset_agent_doubted_services[15m])) > 0`,
    severity: "warning",
    summary: "A list lacks most objects; they are kept until a second list confirms it.",
    description: `A list{{ with $labels.resource }} of {{ . }}{{ end }} lacked most of the known objects for {{ $labels.job }}${IN_CLUSTER} in the last 15 minutes. They stay in use until a second list lacks them, too. If nobody deleted them, check the API server now: it may have been restored.`,
    runbook: "docs/guides/monitoring.md#a-mass-loss-is-unconfirmed",
  },
  {
    alert: "ClustersetReadinessHeldBack",
    expr: "max by (cluster) (clusterset_controller_endpoints_held_back) > 0",
    for: "2m",
    severity: "warning",
    summary: "Endpoints became unready together after an outage; it is held back.",
    description: `{{ $value }} endpoints${IN_CLUSTER} became unready together right after an outage of the control plane. They are published as serving meanwhile.`,
    runbook: "docs/guides/mesh-or-hub.md#failures",
  },
  {
    alert: "ClustersetImportWithoutVip",
    expr: "max by (cluster) (clusterset_controller_imports_without_vip) > 0",
    for: "5m",
    severity: "warning",
    summary: "Imports have no ClusterSetIP.",
    description: `{{ $value }} ServiceImports${IN_CLUSTER} have needed a VIP for 5 minutes and have none. Their condition Ready names the reason.`,
    runbook: "docs/guides/debug-a-node.md#connections-are-refused",
  },
  {
    alert: "ClustersetEventsLost",
    expr: 'sum by (cluster, reason) (increase(clusterset_controller_events_lost_total{reason!="event-limit"}[15m])) > 0',
    for: "15m",
    severity: "info",
    summary: "Events are not created.",
    description: `A clusterset-controller${IN_CLUSTER} could not create Events for 15 minutes ({{ $labels.reason }}). Conditions of exports and imports have the same text.`,
    runbook: "docs/guides/mesh-or-hub.md#failures",
  },
  {
    alert: "ClustersetExportLeftOut",
    expr: 'max by (cluster) (clusterset_controller_exports{reason="EndpointsLeftOut"}) > 0',
    for: "5m",
    severity: "warning",
    summary: "No cluster uses the endpoints of an export.",
    description: `{{ $value }} ServiceExports${IN_CLUSTER} have published endpoints for 5 minutes of which no cluster uses one, such as for a port number that is not the oldest export's. Their condition Ready names the reason.`,
    runbook: "docs/guides/change-port.md#endpointsleftout",
  },
  {
    alert: "ClustersetTrafficRemote",
    expr: 'sum by (cluster) (clusterset_controller_exported_imports{exported_here="true", nearest=~"regional|global"} * on (cluster, instance) group_left () clusterset_controller_leader) > 0',
    for: "1h",
    severity: "warning",
    summary: "Services of a cluster have been served by other clusters for an hour.",
    description: `{{ $value }} services that are exported${IN_CLUSTER} have had no ready endpoint there for an hour: all their connections go to other clusters.`,
    runbook: "docs/guides/debug-a-node.md#traffic-goes-to-the-wrong-cluster",
  },
  {
    alert: "ClustersetDrainEnding",
    expr: "max by (cluster, member) (clusterset_controller_cluster_drain_end_timestamp_seconds > 0) - time() < 900 > 0",
    severity: "info",
    summary: "A drain ends soon.",
    description: `${MEMBER} is in rotation again in {{ $value | humanizeDuration }}: its drain ends. Extend the drain if the maintenance is not over.`,
    runbook: "docs/guides/maintenance.md#bring-it-back",
  },
];
