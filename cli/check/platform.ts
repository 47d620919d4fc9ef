import { parse } from "yaml";
import type { Cidr } from "../../api/cidr.ts";
import { fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import { rangesIn } from "../install/ranges.ts";
import { type Plugin, pluginsOf } from "./network-plugins.ts";
import type { PlatformObjects, Product } from "./platform-objects.ts";

/** How a cluster implements ClusterIPs. */
export type ProxyMode =
  | "iptables"
  | "ipvs"
  | "nftables"
  | "userspace"
  /** By the network plugin, without kube-proxy. */
  | "replaced"
  | "unknown";

/** What checks read of a Node. */
export interface CheckedNode {
  readonly name: string;
  /** As in `kubernetes.io/os`. */
  readonly system: string;
  /** As in `kubernetes.io/arch`. */
  readonly processor: string;
  /** Such as `6.1.0-28-cloud-amd64`. */
  readonly kernel: string;
  readonly addresses: readonly string[];
  /** True on EKS Fargate and virtual nodes, which run no DaemonSet. */
  readonly isServerless: boolean;
}

/** What a cluster runs on. */
export interface Platform {
  readonly gitVersion: string;
  readonly product?: Product;
  readonly nodes: readonly CheckedNode[];
  readonly plugins: readonly Plugin[];
  readonly proxy: ProxyMode;
  /** Service ranges of kubeadm's configuration: API servers list theirs since Kubernetes 1.33. */
  readonly serviceCidrs: readonly Cidr[];
  /** Addresses of the Service `default/kubernetes`, of which there is one of each of its families. */
  readonly kubernetesAddresses: readonly string[];
  readonly unread: readonly string[];
}

/** Recognises what a cluster runs on. PURE. */
export function recognizePlatform(objects: PlatformObjects): Platform {
  const { gitVersion, unread, kubeadm } = objects;
  const nodes = objects.nodes.map(nodeOf);
  const product = productOf(objects);
  const plugins = pluginsOf(objects, product);
  const cluster = documentAt(fieldAt(kubeadm, "data"), "ClusterConfiguration");
  const services = fieldAt(cluster, "networking", "serviceSubnet");
  return {
    ...{ gitVersion, nodes, plugins, unread },
    ...(product !== undefined && { product }),
    proxy: proxyOf(objects, plugins, product),
    kubernetesAddresses: listOf(fieldAt(objects.kubernetesService, "spec", "clusterIPs")).map(
      String,
    ),
    serviceCidrs: (typeof services === "string" && rangesIn(services)) || [],
  };
}

function nodeOf(node: unknown): CheckedNode {
  const info = fieldAt(node, "status", "nodeInfo");
  const labels = fieldAt(node, "metadata", "labels");
  const addresses = listOf(fieldAt(node, "status", "addresses"));
  return {
    name: textField(fieldAt(node, "metadata"), "name") ?? "",
    system: textField(info, "operatingSystem") ?? "",
    processor: textField(info, "architecture") ?? "",
    kernel: textField(info, "kernelVersion") ?? "",
    addresses: addresses.flatMap((one) =>
      /^(Internal|External)IP$/.test(String(fieldAt(one, "type")))
        ? (textField(one, "address") ?? [])
        : [],
    ),
    isServerless:
      textField(labels, "eks.amazonaws.com/compute-type") === "fargate" ||
      textField(labels, "type") === "virtual-kubelet",
  };
}

/** Marks in the version of an API server, and labels of Nodes. In order. */
const MARKS: readonly (readonly [Product, RegExp, label: string | undefined])[] = [
  ["rke2", /\+rke2/, undefined],
  ["k3s", /\+k3s/, undefined],
  ["eks", /-eks-/, "eks.amazonaws.com/nodegroup"],
  ["gke", /-gke\./, "cloud.google.com/gke-nodepool"],
  ["aks", /(?!)/, "kubernetes.azure.com/cluster"],
  ["openshift", /(?!)/, "node.openshift.io/os_id"],
];

function productOf({ gitVersion, nodes }: PlatformObjects): Product | undefined {
  const hasLabel = (label: string) =>
    nodes.some((node) => fieldAt(node, "metadata", "labels", label) !== undefined);
  return MARKS.find(
    ([, version, label]) => version.test(gitVersion) || (label !== undefined && hasLabel(label)),
  )?.[0];
}

/** Platforms whose kube-proxy runs outside of pods and ConfigMaps, in this mode unless a user has changed it. */
const BUILT_IN: Partial<Record<Product, ProxyMode>> = {
  gke: "iptables",
  k3s: "iptables",
  rke2: "iptables",
};

const MODES: readonly ProxyMode[] = ["iptables", "ipvs", "nftables", "userspace"];

function proxyOf(
  { daemonSets, kubeProxy }: PlatformObjects,
  plugins: readonly Plugin[],
  product: Product | undefined,
): ProxyMode {
  const daemonSet = daemonSets.find((one) => fieldAt(one, "metadata", "name") === "kube-proxy");
  if (daemonSet === undefined && plugins.some((one) => one.replacesKubeProxy)) return "replaced";
  const containers = listOf(fieldAt(daemonSet, "spec", "template", "spec", "containers"));
  const words = containers.flatMap((one) => [
    ...listOf(fieldAt(one, "command")),
    ...listOf(fieldAt(one, "args")),
  ]);
  const [, flag] = /--proxy-mode[= ](\w+)/.exec(words.join(" ")) ?? [];
  const data = fieldAt(kubeProxy, "data");
  const config = documentAt(data, "config.conf") ?? documentAt(data, "config");
  const configured = textField(config, "mode");
  const mode = flag ?? (configured === "" ? undefined : configured);
  if (mode !== undefined) return MODES.find((known) => known === mode) ?? "unknown";
  // The default of Linux.
  if (daemonSet !== undefined || config !== undefined) return "iptables";
  return (product && BUILT_IN[product]) ?? "unknown";
}

/** A key of a ConfigMap that is YAML or JSON; undefined if it is neither. */
function documentAt(data: unknown, key: string): unknown {
  try {
    return parse(textField(data, key) ?? "") ?? undefined;
  } catch {
    return undefined;
  }
}
