import { RULES_PER_IMPORT } from "../../api/fair-budget.ts";
import { HEALTH_SCOPES } from "../../api/health.ts";
import { SCHEDULERS } from "../../api/keys.ts";
import { isClusterId, isLabelValue, isSubdomainName } from "../../api/names.ts";
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
  ...inGroup("Source of objects", {
    manifests: flag("--manifests DIR", {
      about: "Directory of ServiceImports and EndpointSlices (YAML or JSON), watched for changes",
      read: optional(text(() => true, "expected a directory")),
    }),
    kubeconfig: flag("--kubeconfig PATH", {
      about: "Kubeconfig of the API server; not needed in a pod, which uses its service account",
      read: optional(text((path) => !path.includes("\0"), "expected a file")),
    }),
  }),
  ...inGroup("This node", {
    nodeName: flag("--node-name NAME", {
      about: "Name of this node's Node object; in a pod, set it from spec.nodeName",
      read: text(isSubdomainName, "expected a node name (lower-case DNS subdomain)"),
      // Lower case, as the kubelet does when it registers a node by its host name.
      default: { shown: "the host's name", of: (host) => host.name.trim().toLowerCase() },
    }),
    cluster: flag("--cluster-id ID", {
      about: "ID of this node's cluster; if empty, ClusterProperty cluster.clusterset.k8s.io",
      read: optional(text(isClusterId, "expected a cluster id (one lower-case DNS label, or two)")),
    }),
    region: flag("--region REGION", {
      about: "Region of this node's cluster; if empty, the region label of its Node",
      read: labelValue,
    }),
    zone: flag("--zone ZONE", {
      about:
        "Zone of this node, for imports that prefer the same zone; if empty, the zone label of its Node",
      read: labelValue,
    }),
    clusterRegions: flag("--cluster-regions ID=REGION,…", {
      about: "Regions of other clusters; takes precedence over labels of their slices",
      read: clusterRegions,
    }),
  }),
  ...inGroup("Network", {
    clusterSetCidrs: flag("--clusterset-cidr CIDR,…", {
      about: "ClusterSetIP ranges, one or two per IP family; a family without a range is disabled",
      read: clusterSetCidrs,
      // Reserved (RFC 1112), so not in use anywhere; Linux routes it like any other range.
      default: "241.0.0.0/8",
    }),
    explicitVipCidrs: flag("--explicit-vip-cidrs CIDR,…", {
      about:
        "Ranges in which imports may have explicit VIPs, outside --clusterset-cidr; if empty, none",
      read: cidrs,
    }),
    podCidrs: flag("--pod-cidrs CIDR,…", {
      about: "Pod ranges of this cluster: no explicit VIPs, and, with --masquerade, what is a pod",
      read: cidrs,
    }),
    serviceCidrs: flag("--service-cidrs CIDR,…", {
      about: "Service ranges of this cluster; explicit VIPs in them are rejected",
      read: cidrs,
    }),
  }),
  ...inGroup("Dataplane", {
    backends: flag("--backend NAME,…", {
      about: `Backend: ${BACKENDS.join(", ")}; of several, the first that the node supports; auto: ${AUTO_ORDER.join(",")}`,
      read: backends,
      default: DEFAULT_BACKEND,
    }),
    iptablesFlavour: flag("--iptables-flavour FLAVOUR", {
      about: "nft or legacy; auto selects the one that holds the node's other rules",
      read: oneOf(IPTABLES_FLAVOURS),
      default: "auto",
    }),
    ipvsScheduler: flag("--ipvs-scheduler NAME", {
      about: `IPVS scheduler for imports without an annotation: ${SCHEDULERS.join(", ")}`,
      read: oneOf(SCHEDULERS),
      default: "rr",
    }),
    ipvsTcpTimeout: flag("--ipvs-tcp-timeout SECONDS", {
      about: "Timeout of idle TCP connections in IPVS, node-wide; if empty, the kernel's (900 s)",
      read: optional(seconds(1, 864_000)),
    }),
    kubeProxyExcludeCidrs: flag("--kube-proxy-exclude-cidrs CIDR,…", {
      about:
        "ipvs.excludeCIDRs of this node's kube-proxy, if the agent cannot read its configuration",
      read: cidrs,
    }),
    masquerade: flag("--masquerade WHO", {
      about:
        "Connections to masquerade in addition to hairpin ones: none, off-cluster, remote, all",
      read: oneOf(MASQUERADES),
      default: "none",
    }),
    health: flag("--health WHOSE", {
      about:
        "Endpoints used last while they do not answer: off, remote (of other clusters), endpoints (own ones, too), all",
      read: oneOf(HEALTH_SCOPES),
      default: "endpoints",
    }),
    lockFile: flag("--lock-file PATH", {
      about:
        "Lock that allows one active agent per node; use the same path for all agents of a node",
      read: text((path) => path.startsWith("/"), "expected an absolute path"),
      // In a container, this must be the host's /run.
      default: "/run/clusterset-agent.lock",
    }),
  }),
  ...inGroup("Limits", {
    maxRulesPerImport: flag("--max-rules-per-import NUMBER", {
      about:
        "Most rules of one import: endpoints times ports, ten times with ClientIP affinity; endpoints of farther slices are left out",
      read: count(1, MOST_RULES),
      default: String(RULES_PER_IMPORT),
    }),
    maxRulesPerNamespace: flag("--max-rules-per-namespace NUMBER", {
      about:
        "The same for all imports of a namespace, which share it: an import below an equal share loses nothing",
      read: count(1, MOST_RULES),
      default: "100000",
    }),
    maxRules: flag("--max-rules NUMBER", {
      about:
        "The same for all imports; namespaces share it: one below an equal share loses nothing",
      read: count(1, MOST_RULES),
      // Twice the rules of 10,000 imports with 100 endpoints.
      default: "2000000",
    }),
  }),
  ...inGroup(SHOWN, {
    http: flag("--http-address IP:PORT", {
      about:
        "Listen address of /livez, /readyz, /status, /metrics, /plan and /kernel; off disables them",
      read: listenAddress,
      // Loopback, because /plan lists services and endpoints. Kubernetes uses the ports 10248 to 10260.
      default: "127.0.0.1:10269",
    }),
    output: flag("-o, --output FORMAT", {
      about: "Output format of the plan command: json or yaml",
      read: oneOf(OUTPUTS),
      default: "json",
    }),
  }),
  ...LOG_FLAGS,
} as const satisfies FlagTable;

/** Parsed flag values, by key. */
export type FlagValues = ValuesOf<typeof FLAGS>;
