import { isClusterId, isLabelValue, isSubdomainName } from "../../api/names.ts";
import { SCHEDULERS } from "../../api/scheduler.ts";
import type { FlagTable, ValuesOf } from "../../common/config/flag.ts";
import { LOG_FLAGS, SHOWN } from "../../common/config/log-flags.ts";
import {
  cidrs,
  clusterSetCidrs,
  listenAddress,
  oneOf,
  optional,
  seconds,
  text,
} from "../../common/config/values.ts";
import { BACKENDS, MASQUERADES } from "../backends/backend.ts";
import { clusterRegions } from "./cluster-regions.ts";

/** Which iptables to use: the one that the node's other rules are found in, or the one named here. */
export const IPTABLES_FLAVOURS = ["auto", "nft", "legacy"] as const;
/** One of `IPTABLES_FLAVOURS`. */
export type IptablesFlavour = (typeof IPTABLES_FLAVOURS)[number];

/** What `--backend` takes. */
const BACKEND_CHOICES = [...BACKENDS, "auto"] as const;
/** How `plan` prints. */
export const OUTPUTS = ["json", "yaml"] as const;
/** One of `OUTPUTS`. */
export type Output = (typeof OUTPUTS)[number];

const NODE = "This node";
const NETWORK = "The network around it";
const OBJECTS = "Where objects come from";
const KERNEL = "What is programmed";

const labelValue = optional(text(isLabelValue, "expected a Kubernetes label value"));

/** Every flag: parsing, environment, defaults and help are made from this table. */
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
    about: "Kubeconfig of the API server to read; in a pod, its service account needs none",
    read: optional(text((path) => !path.includes("\0"), "expected a file")),
    default: "",
  },
  nodeName: {
    name: "node-name",
    group: NODE,
    placeholder: "NAME",
    about:
      "Name of this node, as its Node object and slices spell it; in a pod, from spec.nodeName",
    read: text(isSubdomainName, "expected a node name (lower-case DNS subdomain)"),
    // Lower case, as the kubelet makes it when it registers a node under its host name.
    default: { shown: "the host's name", of: (host) => host.name.trim().toLowerCase() },
  },
  cluster: {
    name: "cluster-id",
    group: NODE,
    placeholder: "ID",
    about: "Id of this node's cluster; none given means ClusterProperty cluster.clusterset.k8s.io",
    read: optional(text(isClusterId, "expected a cluster id (one lower-case DNS label, or two)")),
    default: "",
  },
  region: {
    name: "region",
    group: NODE,
    placeholder: "REGION",
    about: "Region of this node's cluster; none given means the label of its Node",
    read: labelValue,
    default: "",
  },
  zone: {
    name: "zone",
    group: NODE,
    placeholder: "ZONE",
    about:
      "Zone of this node, for imports that prefer their own; none given means the label of its Node",
    read: labelValue,
    default: "",
  },
  clusterRegions: {
    name: "cluster-regions",
    group: NODE,
    placeholder: "ID=REGION,…",
    about: "Regions of other clusters; overrules what their slices claim",
    read: clusterRegions,
    default: "",
  },
  clusterSetCidrs: {
    name: "clusterset-cidr",
    group: NETWORK,
    placeholder: "CIDR[,CIDR]",
    about: "Range that ClusterSetIPs come from, one per IP family; a family without one is off",
    read: clusterSetCidrs,
    // Reserved for future use since 1989 (RFC 1112 4), so no pod, Service, node or host on the internet
    // has such an address to lose; Linux has routed it like any other since 2.6.25.
    default: "241.0.0.0/8",
  },
  explicitVipCidrs: {
    name: "explicit-vip-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "Ranges that VIPs chosen by hand may lie in; none given means anywhere unreserved",
    read: cidrs,
    default: "",
  },
  podCidrs: {
    name: "pod-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "Pod ranges of this cluster; no VIP may lie in them",
    read: cidrs,
    default: "",
  },
  serviceCidrs: {
    name: "service-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "Service ranges of this cluster; no VIP chosen by hand may lie in them",
    read: cidrs,
    default: "",
  },
  backend: {
    name: "backend",
    group: KERNEL,
    placeholder: "NAME",
    about: `Kernel interface: ${BACKENDS.join(", ")}; auto takes ipvs where the node can`,
    read: oneOf(BACKEND_CHOICES),
    default: "iptables",
  },
  iptablesFlavour: {
    name: "iptables-flavour",
    group: KERNEL,
    placeholder: "FLAVOUR",
    about: "nft or legacy; auto takes the one that holds the node's other rules",
    read: oneOf(IPTABLES_FLAVOURS),
    default: "auto",
  },
  ipvsScheduler: {
    name: "ipvs-scheduler",
    group: KERNEL,
    placeholder: "NAME",
    about: `How IPVS picks an endpoint, unless the import says: ${SCHEDULERS.join(", ")}`,
    read: oneOf(SCHEDULERS),
    default: "rr",
  },
  ipvsTcpTimeout: {
    name: "ipvs-tcp-timeout",
    group: KERNEL,
    placeholder: "SECONDS",
    about:
      "When IPVS forgets a silent TCP connection; of the whole node; the kernel's (900) if not given",
    read: optional(seconds(1, 864_000)),
    default: "",
  },
  kubeProxyExcludeCidrs: {
    name: "kube-proxy-exclude-cidrs",
    group: KERNEL,
    placeholder: "CIDR,…",
    about: "The ipvs.excludeCIDRs of this node's kube-proxy, where it does not tell them itself",
    read: cidrs,
    default: "",
  },
  masquerade: {
    name: "masquerade",
    group: KERNEL,
    placeholder: "WHO",
    about: "Who gets the node's address as source, beside hairpins: none, off-cluster, remote, all",
    read: oneOf(MASQUERADES),
    default: "none",
  },
  lockFile: {
    name: "lock-file",
    group: KERNEL,
    placeholder: "PATH",
    about:
      "Locked by the one agent that writes to this node; all agents of a node must name the same",
    read: text((path) => path.startsWith("/"), "expected an absolute path"),
    // Where programs keep such files; in a container it has to be the host's /run.
    default: "/run/clusterset-agent.lock",
  },
  http: {
    name: "http-address",
    group: SHOWN,
    placeholder: "IP:PORT",
    about: "Where /livez, /readyz, /metrics and /plan are served; off for nowhere",
    read: listenAddress,
    // Loopback, because /plan tells who talks to whom. The port is free of Kubernetes' own on a node
    // (10248 to 10260) and of what network plugins commonly take.
    default: "127.0.0.1:10269",
  },
  ...LOG_FLAGS,
  output: {
    name: "output",
    short: "o",
    group: SHOWN,
    placeholder: "FORMAT",
    about: "What the command plan prints: json or yaml",
    read: oneOf(OUTPUTS),
    default: "json",
  },
} as const satisfies FlagTable;

/** What the flags say, by key. */
export type FlagValues = ValuesOf<typeof FLAGS>;
