import type { Cidr } from "../../api/cidr.ts";
import {
  isClusterId,
  isClusterSetId,
  isLabelName,
  isLabelValue,
  isSubdomainName,
} from "../../api/names.ts";
import { MOST_SHIFT_SECONDS } from "../../api/shift.ts";
import {
  type FlagTable,
  flag,
  inGroup,
  LOG_FLAGS,
  SHOWN,
  type ValuesOf,
} from "../../common/config/flag.ts";
import {
  cidrs,
  clusterSetCidrs,
  count,
  listenAddress,
  listOf,
  mapOf,
  oneOf,
  optional,
  type Reader,
  seconds,
  someOf,
  text,
} from "../../common/config/values.ts";
import { KUBECONFIG_EXCEPTIONS } from "../../common/kubernetes/inline-kubeconfig.ts";
import { type Span, usableSpan } from "../allocate/pool.ts";
import { LEASE_CHOICE } from "../liveness/lease-times.ts";
import { LEASE_SECONDS } from "../members/lease-expiry.ts";
import { DEFAULT_EXPORTED_KEYS, isKeyPattern, isReservedKey } from "../model/exported-metadata.ts";
import { STARTUP_TAINTS } from "../startup-taint/startup-taint.ts";

/** Registries on each cluster's own API server, or on a hub. */
export const REGISTRIES = ["mesh", "hub"] as const;
/** One of `REGISTRIES`. */
export type RegistryKind = (typeof REGISTRIES)[number];

/** Whether Services may ask for ClusterIP failover. */
const FAILOVER_CHOICES = ["by-annotation", "never"] as const;

/** More than a node can have. */
const MOST_RULES = 100_000_000;

const file = optional(text((path) => !path.includes("\0"), "expected a file"));

/** Unlike the agent, the controller needs ranges with at least one usable VIP. */
const vipRanges: Reader<readonly Cidr[]> = (given) => {
  const read = clusterSetCidrs(given);
  if ("expected" in read) return read;
  const empty = read.value.map((cidr) => ({ cidr, ...usableSpan(cidr) })).find(isEmpty);
  return empty === undefined
    ? read
    : { expected: `${empty.cidr.text} has no address that can be a VIP; expected a wider range` };
};

const keyPatterns = listOf(isKeyPattern, "a key of labels, or one with * as its name");

const exportedKeys: Reader<readonly string[]> = (given) => {
  const read = keyPatterns(given);
  const reserved = "value" in read ? read.value.find(isReservedKey) : undefined;
  if (reserved === undefined) return read;
  return { expected: `${reserved} is of another component, and never exported` };
};

/** All flags, for parsing, environment variables, defaults and help. */
export const FLAGS = {
  ...inGroup("Source of objects", {
    kubeconfig: flag("--kubeconfig PATH", {
      about: "Kubeconfig of this cluster's API server; default: the pod's service account",
      read: file,
    }),
    namespace: flag("--namespace NAME", {
      about: "Namespace of the controller's own objects: its Lease, and the Secrets of peers",
      read: text(isLabelName, "expected a namespace"),
      default: "clusterset-proxy",
    }),
    registry: flag("--registry WHERE", {
      about: "Where registries are: mesh, on each cluster's API server, or hub, on one",
      read: oneOf(REGISTRIES),
      default: "mesh",
    }),
    hubKubeconfig: flag("--hub-kubeconfig PATH", {
      about: "Kubeconfig of the hub's API server, for --registry hub",
      read: file,
    }),
    peerKubeconfigAllow: flag("--peer-kubeconfig-allow WHAT,…", {
      about:
        "What the kubeconfig of a peer's Secret may contain: insecure-skip-tls-verify, http (URL without TLS), proxy-url, as (impersonation); default: none",
      read: someOf(KUBECONFIG_EXCEPTIONS),
    }),
  }),
  ...inGroup("This cluster", {
    cluster: flag("--cluster-id ID", {
      about:
        "ID of this cluster; becomes ClusterProperty cluster.clusterset.k8s.io, or must equal it",
      read: optional(text(isClusterId, "expected a cluster id (one lower-case DNS label, or two)")),
    }),
    clusterSet: flag("--clusterset-id ID", {
      about: "ID of the clusterset; becomes ClusterProperty clusterset.k8s.io, or must equal it",
      read: optional(text(isClusterSetId, "expected a clusterset id (a Kubernetes label value)")),
    }),
    region: flag("--region REGION", {
      about: "Region of this cluster; default: ClusterProperty region.topology.k8s.io",
      read: optional(text(isLabelValue, "expected a Kubernetes label value")),
    }),
  }),
  ...inGroup("Exports of other clusters", {
    clusterRegions: flag("--cluster-regions ID=REGION,…", {
      about:
        "Regions of other clusters for imported slices and ClusterIP failover; takes precedence over what they publish",
      read: mapOf(isClusterId, isLabelValue, "cluster-a=eu-west,cluster-b=us-east"),
    }),
    policiesFrom: flag("--accept-policies-from CLUSTER,…", {
      about:
        "Peers whose exported clusterset-proxy.io annotations apply to imports that this cluster does not export itself; default: none",
      read: listOf(isClusterId, "a cluster id"),
    }),
    exportedKeys: flag("--exported-keys KEY,…", {
      about:
        "Exported labels and annotations that imports get: NAME or DOMAIN/NAME, where * is any name",
      read: exportedKeys,
      default: DEFAULT_EXPORTED_KEYS,
    }),
    deciders: flag("--deciding-cluster NAMESPACE=CLUSTER,…", {
      about:
        "Cluster whose exports of a namespace decide conflicts, instead of the oldest; must be equal in all clusters; default: none",
      read: mapOf(isLabelName, isClusterId, "shop=cluster-a,auth=cluster-b"),
    }),
    clusterIpFailover: flag("--cluster-ip-failover WHEN", {
      about:
        "Whether ClusterIPs may fail over to other clusters: by-annotation, if the Service or its Namespace asks for it, or never",
      read: oneOf(FAILOVER_CHOICES),
      default: "by-annotation",
    }),
    drainWindow: flag("--drain-window SECONDS", {
      about: "Time in which nodes leave a drained cluster one by one; 0s: at once",
      read: seconds(0, MOST_SHIFT_SECONDS),
      default: "0s",
    }),
    returnWindow: flag("--return-window SECONDS", {
      about:
        "Time in which nodes return one by one to a cluster that was drained or stale for a minute; 0s: at once",
      read: seconds(0, MOST_SHIFT_SECONDS),
      // Two rounds of a HorizontalPodAutoscaler (15 s each).
      default: "30s",
    }),
  }),
  ...inGroup("Network", {
    clusterSetCidrs: flag("--clusterset-cidr CIDR,…", {
      about:
        "ClusterSetIP ranges, one or two per IP family; the first is allocated from. Agents must have all",
      read: vipRanges,
      // The agent's default.
      default: "241.0.0.0/8",
    }),
    explicitVipCidrs: flag("--explicit-vip-cidrs CIDR,…", {
      about: "Ranges in which imports may have explicit VIPs; must equal the agents' flag",
      read: cidrs,
    }),
    podCidrs: flag("--pod-cidrs CIDR,…", {
      about: "Pod ranges of this cluster besides those of its Nodes; no VIP is allocated there",
      read: cidrs,
    }),
    serviceCidrs: flag("--service-cidrs CIDR,…", {
      about: "Service ranges besides those of ServiceCIDRs; no VIP is allocated there",
      read: cidrs,
    }),
  }),
  ...inGroup("Nodes", {
    startupTaint: flag("--startup-taint WHEN", {
      about:
        "Whether the taint clusterset-proxy.io/agent-not-ready of a node is removed once its agent is ready: never, new-nodes, or restarted-nodes, which also adds it to a node that has restarted",
      read: oneOf(STARTUP_TAINTS),
      default: "never",
    }),
    startupTaintSeconds: flag("--startup-taint-timeout SECONDS", {
      about: "Time after which the taint is removed from a node whose agent is not ready",
      read: seconds(60, 86_400),
      default: "300s",
    }),
  }),
  ...inGroup("Limits", {
    maxRulesPerImport: flag("--max-rules-per-import NUMBER", {
      about:
        "Most rules of one import: endpoints times ports, ten times with ClientIP affinity; clusters over an equal share are cut",
      read: count(1, MOST_RULES),
      // Four times the agents' default: they leave out the farthest endpoints first.
      default: "100000",
    }),
    maxRulesPerCluster: flag("--max-rules-per-cluster NUMBER", {
      about:
        "Most endpoints times ports of all that one cluster exports; later slices are left out",
      read: count(1, MOST_RULES),
      // Half of what agents take from all clusters by default.
      default: "1000000",
    }),
  }),
  ...inGroup("Leader election", {
    leaderElectionId: flag("--leader-election-id NAME", {
      about: "Name of the Lease in --namespace for leader election",
      read: text(isSubdomainName, "expected a name of a Lease (lower-case DNS subdomain)"),
      default: "clusterset-controller",
    }),
    leaseSeconds: flag("--lease-duration SECONDS", {
      about: "Lease duration; once expired, peers use this cluster only as a last resort",
      read: seconds(LEASE_CHOICE.least, LEASE_CHOICE.most),
      default: `${LEASE_SECONDS}s`,
    }),
  }),
  ...inGroup(SHOWN, {
    http: flag("--http-address IP:PORT", {
      about: "Address of /livez, /readyz, /metrics and /debug, or off",
      read: listenAddress,
      // Loopback, because /debug lists the exports of all clusters. The agent uses the port before.
      default: "127.0.0.1:10270",
    }),
  }),
  ...LOG_FLAGS,
} as const satisfies FlagTable;

/** Values by key. */
export type FlagValues = ValuesOf<typeof FLAGS>;

function isEmpty({ first, last }: Span): boolean {
  return last < first;
}
