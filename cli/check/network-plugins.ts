import { fieldAt, listOf, textField } from "../../api/parse/fields.ts";
import type { PlatformObjects, Product } from "./platform-objects.ts";

/** A network plugin, or a program beside it that enforces policies. */
export interface Plugin {
  /** As users know it, such as `Cilium`. */
  readonly name: string;
  /** Whether packets of pods pass netfilter of their node, by what is known of the plugin and its settings. */
  readonly path: "netfilter" | "bypass" | "unknown";
  /** The setting with which they pass, as a sentence. */
  readonly setting?: string;
  /** True: its iptables rules name ipsets. */
  readonly hasIpsets: boolean;
  readonly replacesKubeProxy: boolean;
}

type Known = Pick<Plugin, "name"> & Partial<Plugin>;

/** How a plugin is recognised, and what its configuration says. */
interface Row {
  /** The name of its DaemonSet. */
  readonly daemonSet: RegExp;
  readonly plugin: (objects: PlatformObjects) => Known;
}

/** In order: the last rows are networks of platforms, beside which another plugin may run. */
const ROWS: readonly Row[] = [
  { daemonSet: /^cilium$/, plugin: ciliumOf },
  {
    daemonSet: /^anetd$/,
    plugin: () => ({
      name: "GKE Dataplane V2",
      ...{ path: "bypass", replacesKubeProxy: true },
      setting: "Use clusters or node pools without Dataplane V2.",
    }),
  },
  { daemonSet: /^calico-node$/, plugin: calicoOf },
  { daemonSet: /^(rke2-)?canal$/, plugin: () => ({ name: "Canal", hasIpsets: true }) },
  { daemonSet: /^kube-flannel/, plugin: () => ({ name: "flannel" }) },
  { daemonSet: /^kube-router$/, plugin: () => ({ name: "kube-router", hasIpsets: true }) },
  { daemonSet: /^weave-net$/, plugin: () => ({ name: "Weave Net", hasIpsets: true }) },
  { daemonSet: /^antrea-agent$/, plugin: () => ({ name: "Antrea" }) },
  { daemonSet: /^kindnet$/, plugin: () => ({ name: "kindnet" }) },
  { daemonSet: /^ovnkube-node$/, plugin: ovnOf },
  { daemonSet: /^kube-ovn-cni$/, plugin: () => ({ name: "Kube-OVN", path: "unknown" }) },
  { daemonSet: /^aws-node$/, plugin: () => ({ name: "the AWS VPC CNI" }) },
  { daemonSet: /^azure-(cns|npm)$/, plugin: () => ({ name: "Azure CNI" }) },
];

/** Networks of products that are no DaemonSets. */
const BUILT_IN: Partial<Record<Product, Known>> = {
  aks: { name: "kubenet" },
  gke: { name: "GKE's bridge" },
  // Its flannel and network policy controller are parts of one process.
  k3s: { name: "K3s's flannel", hasIpsets: true },
};

/** The network plugins of a cluster. Empty: no known one. PURE. */
export function pluginsOf(objects: PlatformObjects, product: Product | undefined): Plugin[] {
  const names = objects.daemonSets.map((one) => textField(fieldAt(one, "metadata"), "name") ?? "");
  const found = ROWS.filter(({ daemonSet }) => names.some((name) => daemonSet.test(name)));
  const known = found.map(({ plugin }) => plugin(objects));
  const builtIn = product && BUILT_IN[product];
  const all = known.length === 0 && builtIn !== undefined ? [builtIn] : known;
  return all.map((one) => ({
    ...{ path: "netfilter", hasIpsets: false, replacesKubeProxy: false },
    ...one,
  }));
}

/** Settings of which each makes Cilium fall back from its host routing in eBPF to the kernel's. */
function ciliumOf({ ciliumConfig }: PlatformObjects): Known {
  const data = fieldAt(ciliumConfig, "data");
  const isOn = (key: string) => /^(true|strict)$/.test(textField(data, key) ?? "");
  const replacesKubeProxy = isOn("kube-proxy-replacement");
  const isLegacy =
    isOn("enable-host-legacy-routing") ||
    isOn("enable-ipsec") ||
    !replacesKubeProxy ||
    (isOn("enable-ipv4-masquerade") && !isOn("enable-bpf-masquerade"));
  const path = ciliumConfig === undefined ? "unknown" : isLegacy ? "netfilter" : "bypass";
  const setting = "Set Cilium's bpf.hostLegacyRouting=true.";
  return { name: "Cilium", path, setting, replacesKubeProxy };
}

function calicoOf({ daemonSets, felix, installation }: PlatformObjects): Known {
  const dataplane = fieldAt(installation, "spec", "calicoNetwork", "linuxDataplane");
  const daemonSet = daemonSets.find((one) => fieldAt(one, "metadata", "name") === "calico-node");
  const variables = listOf(fieldAt(daemonSet, "spec", "template", "spec", "containers")).flatMap(
    (one) => listOf(fieldAt(one, "env")),
  );
  const isEbpf =
    dataplane === "BPF" ||
    fieldAt(felix, "spec", "bpfEnabled") === true ||
    variables.some(
      (one) =>
        textField(one, "name") === "FELIX_BPFENABLED" &&
        /^true$/i.test(textField(one, "value") ?? ""),
    );
  const usesNft = dataplane === "Nftables" || fieldAt(felix, "spec", "nftablesMode") === "Enabled";
  return {
    ...{ name: "Calico", path: isEbpf ? "bypass" : "netfilter", replacesKubeProxy: isEbpf },
    setting: "Set Calico's linuxDataplane to Iptables or Nftables.",
    hasIpsets: !isEbpf && !usesNft,
  };
}

function ovnOf({ networkOperator }: PlatformObjects): Known {
  const gateway = ["spec", "defaultNetwork", "ovnKubernetesConfig", "gatewayConfig"];
  const viaHost = fieldAt(networkOperator, ...gateway, "routingViaHost") === true;
  return {
    ...{ name: "OVN-Kubernetes", path: viaHost ? "netfilter" : "bypass" },
    ...{ replacesKubeProxy: true },
    setting: "Set routingViaHost to true (docs/guides/platforms.md#openshift).",
  };
}
