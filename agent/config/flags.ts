import { HEALTH_SCOPES } from "../../api/health.ts";
import { isClusterId, isLabelValue, isSubdomainName } from "../../api/names.ts";
import { SCHEDULERS } from "../../api/scheduler.ts";
import type { FlagTable, ValuesOf } from "../../common/config/flag.ts";
import { LOG_FLAGS, SHOWN } from "../../common/config/log-flags.ts";
import {
  cidrs,
  clusterSetCidrs,
  count,
  listenAddress,
  mapOf,
  oneOf,
  optional,
  type Reader,
  seconds,
  someOf,
  text,
} from "../../common/config/values.ts";
import { MASQUERADES } from "../backends/backend.ts";
import { AUTO_ORDER, BACKENDS, type BackendName, DEFAULT_BACKEND } from "../backends/names.ts";

/** Which iptables to use; `auto` selects the flavour that holds the node's other rules. */
export const IPTABLES_FLAVOURS = ["auto", "nft", "legacy"] as const;

const someBackends = someOf(BACKENDS);

/** Backends in order of preference. */
const backends: Reader<readonly BackendName[]> = (given) => {
  if (given === "auto") return { value: AUTO_ORDER };
  return given === ""
    ? { expected: `expected ${BACKENDS.join(", ")} or auto` }
    : someBackends(given);
};

/** Output formats of `plan`. */
export const OUTPUTS = ["json", "yaml"] as const;
/** One of `OUTPUTS`. */
export type Output = (typeof OUTPUTS)[number];

const NODE = "This node";
const NETWORK = "Network";
const OBJECTS = "Source of objects";
const KERNEL = "Dataplane";
const LIMITS = "Limits";

/** More than the kernel's own limits. */
const MOST_RULES = 100_000_000;

const labelValue = optional(text(isLabelValue, "expected a Kubernetes label value"));

/** Regions by cluster. */
export const clusterRegions = mapOf(
  isClusterId,
  isLabelValue,
  "cluster-a=eu-west,cluster-b=us-east",
);

/** Every flag. Parsing, environment variables, defaults and help use this table. */
export const FLAGS = {
  manifests: {
    name: "manifests",
    group: OBJECTS,
    placeholder: "DIR",
    about: "Directory of ServiceImports and EndpointSlices (YAML or JSON), watched for changes",
    read: optional(text(() => true, "expected a directory")),
    default: "",
  },
  kubeconfig: {
    name: "kubeconfig",
    group: OBJECTS,
    placeholder: "PATH",
    about: "Kubeconfig of the API server; not needed in a pod, which uses its service account",
    read: optional(text((path) => !path.includes("\0"), "expected a file")),
    default: "",
  },
  nodeName: {
    name: "node-name",
    group: NODE,
    placeholder: "NAME",
    about: "Name of this node's Node object; in a pod, set it from spec.nodeName",
    read: text(isSubdomainName, "expected a node name (lower-case DNS subdomain)"),
    // Lower case, as the kubelet does when it registers a node by its host name.
    default: { shown: "the host's name", of: (host) => host.name.trim().toLowerCase() },
  },
  cluster: {
    name: "cluster-id",
    group: NODE,
    placeholder: "ID",
    about: "ID of this node's cluster; if empty, ClusterProperty cluster.clusterset.k8s.io",
    read: optional(text(isClusterId, "expected a cluster id (one lower-case DNS label, or two)")),
    default: "",
  },
  region: {
    name: "region",
    group: NODE,
    placeholder: "REGION",
    about: "Region of this node's cluster; if empty, the region label of its Node",
    read: labelValue,
    default: "",
  },
  zone: {
    name: "zone",
    group: NODE,
    placeholder: "ZONE",
    about:
      "Zone of this node, for imports that prefer the same zone; if empty, the zone label of its Node",
    read: labelValue,
    default: "",
  },
  clusterRegions: {
    name: "cluster-regions",
    group: NODE,
    placeholder: "ID=REGION,…",
    about: "Regions of other clusters; takes precedence over labels of their slices",
    read: clusterRegions,
    default: "",
  },
  clusterSetCidrs: {
    name: "clusterset-cidr",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "ClusterSetIP ranges, one or two per IP family; a family without a range is disabled",
    read: clusterSetCidrs,
    // Reserved (RFC 1112), so not in use anywhere; Linux routes it like any other range.
    default: "241.0.0.0/8",
  },
  explicitVipCidrs: {
    name: "explicit-vip-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about:
      "Ranges in which imports may have explicit VIPs, outside --clusterset-cidr; if empty, none",
    read: cidrs,
    default: "",
  },
  podCidrs: {
    name: "pod-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "Pod ranges of this cluster: no explicit VIPs, and, with --masquerade, what is a pod",
    read: cidrs,
    default: "",
  },
  serviceCidrs: {
    name: "service-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "Service ranges of this cluster; explicit VIPs in them are rejected",
    read: cidrs,
    default: "",
  },
  backends: {
    name: "backend",
    group: KERNEL,
    placeholder: "NAME,…",
    about: `Backend: ${BACKENDS.join(", ")}; of several, the first that the node supports; auto: ${AUTO_ORDER.join(",")}`,
    read: backends,
    default: DEFAULT_BACKEND,
  },
  iptablesFlavour: {
    name: "iptables-flavour",
    group: KERNEL,
    placeholder: "FLAVOUR",
    about: "nft or legacy; auto selects the one that holds the node's other rules",
    read: oneOf(IPTABLES_FLAVOURS),
    default: "auto",
  },
  ipvsScheduler: {
    name: "ipvs-scheduler",
    group: KERNEL,
    placeholder: "NAME",
    about: `IPVS scheduler for imports without an annotation: ${SCHEDULERS.join(", ")}`,
    read: oneOf(SCHEDULERS),
    default: "rr",
  },
  ipvsTcpTimeout: {
    name: "ipvs-tcp-timeout",
    group: KERNEL,
    placeholder: "SECONDS",
    about: "Timeout of idle TCP connections in IPVS, node-wide; if empty, the kernel's (900 s)",
    read: optional(seconds(1, 864_000)),
    default: "",
  },
  kubeProxyExcludeCidrs: {
    name: "kube-proxy-exclude-cidrs",
    group: KERNEL,
    placeholder: "CIDR,…",
    about:
      "ipvs.excludeCIDRs of this node's kube-proxy, if the agent cannot read its configuration",
    read: cidrs,
    default: "",
  },
  masquerade: {
    name: "masquerade",
    group: KERNEL,
    placeholder: "WHO",
    about: "Connections to masquerade in addition to hairpin ones: none, off-cluster, remote, all",
    read: oneOf(MASQUERADES),
    default: "none",
  },
  health: {
    name: "health",
    group: KERNEL,
    placeholder: "WHOSE",
    about:
      "Endpoints used last while they do not answer: off, remote (of other clusters), endpoints (own ones, too), all",
    read: oneOf(HEALTH_SCOPES),
    default: "endpoints",
  },
  lockFile: {
    name: "lock-file",
    group: KERNEL,
    placeholder: "PATH",
    about: "Lock that allows one active agent per node; use the same path for all agents of a node",
    read: text((path) => path.startsWith("/"), "expected an absolute path"),
    // In a container, this must be the host's /run.
    default: "/run/clusterset-agent.lock",
  },
  maxRulesPerImport: {
    name: "max-rules-per-import",
    group: LIMITS,
    placeholder: "NUMBER",
    about:
      "Most rules of one import: endpoints times ports, ten times with ClientIP affinity; endpoints of farther slices are left out",
    read: count(1, MOST_RULES),
    // The kernel takes about a second for them, during which it accepts no other change.
    default: "25000",
  },
  maxRulesPerNamespace: {
    name: "max-rules-per-namespace",
    group: LIMITS,
    placeholder: "NUMBER",
    about: "The same for all imports of a namespace; endpoints of its newest imports are left out",
    read: count(1, MOST_RULES),
    default: "100000",
  },
  maxRules: {
    name: "max-rules",
    group: LIMITS,
    placeholder: "NUMBER",
    about: "The same for all imports; endpoints of the newest imports are left out",
    read: count(1, MOST_RULES),
    // Twice the rules of 10,000 imports with 100 endpoints.
    default: "2000000",
  },
  http: {
    name: "http-address",
    group: SHOWN,
    placeholder: "IP:PORT",
    about: "Listen address of /livez, /readyz, /metrics, /plan and /kernel; off disables them",
    read: listenAddress,
    // Loopback, because /plan lists services and endpoints. Kubernetes uses the ports 10248 to 10260.
    default: "127.0.0.1:10269",
  },
  ...LOG_FLAGS,
  output: {
    name: "output",
    short: "o",
    group: SHOWN,
    placeholder: "FORMAT",
    about: "Output format of the plan command: json or yaml",
    read: oneOf(OUTPUTS),
    default: "json",
  },
} as const satisfies FlagTable;

/** Parsed flag values, by key. */
export type FlagValues = ValuesOf<typeof FLAGS>;
