import type { NodePlace } from "../lab/topology.ts";

/** The image of the process that holds a pod's namespaces. */
export const PAUSE_IMAGE = "lab.local/pause:1";

/** Where Debian has the plugins. */
const CNI_PLUGINS = "/usr/lib/cni";

/** The address of a cluster's DNS server, out of the range of Services. */
export const CLUSTER_DNS = "10.96.0.10";

/** Files of a node, by what they are. */
export function nodeFiles(directory: string) {
  return {
    containerd: `${directory}/containerd.toml`,
    /** Its root, as the machine sees it. */
    containerdRoot: `${directory}/lib/containerd`,
    cni: `${directory}/cni`,
    cniConfig: `${directory}/cni/10-ptp.conflist`,
    kubelet: `${directory}/kubelet.json`,
    kubeletKubeconfig: `${directory}/kubelet.kubeconfig`,
    kubeProxy: `${directory}/kube-proxy.json`,
    kubeProxyKubeconfig: `${directory}/kube-proxy.kubeconfig`,
    resolvConf: `${directory}/resolv.conf`,
  };
}

/**
 * containerd's configuration. What it would make outside of the node's own directories is off. To raise a
 * process's claim to memory (oom_score_adj below its own) takes a capability that not every machine's root has.
 */
export function containerdConfig(directory: string): string {
  const off = [
    "io.containerd.internal.v1.opt",
    ...["aufs", "btrfs", "devmapper", "zfs"].map((name) => `io.containerd.snapshotter.v1.${name}`),
  ];
  return `version = 2
disabled_plugins = ${JSON.stringify(off)}
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "${PAUSE_IMAGE}"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${CNI_PLUGINS}"
  conf_dir = "${nodeFiles(directory).cni}"
`;
}

/** Pods hang on their node by a link each, and are routed, not translated. */
export function cniConfig({ podCidrs }: NodePlace): object {
  const ranges = podCidrs.map(({ text }) => [{ subnet: text }]);
  const routes = [{ dst: "0.0.0.0/0" }, { dst: "::/0" }];
  return {
    cniVersion: "1.0.0",
    name: "lab",
    plugins: [
      { type: "ptp", ipam: { type: "host-local", ranges, routes } },
      { type: "portmap", capabilities: { portMappings: true } },
    ],
  };
}

/** A kubelet without limits of its own, which evicts no pod because of the machine's full disk. */
export function kubeletConfig(directory: string): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    failSwapOn: false,
    enforceNodeAllocatable: [],
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
    oomScoreAdj: 0,
    clusterDNS: [CLUSTER_DNS],
    clusterDomain: "cluster.local",
    resolvConf: nodeFiles(directory).resolvConf,
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    volumePluginDir: "/var/lib/kubelet/volume-plugins",
  };
}

/** kube-proxy's defaults, but that it leaves alone what is the whole machine's: the sizes of connection tracking. */
export function kubeProxyConfig(
  kubeconfig: string,
  nodeName: string,
  mode: string,
  clusterCidrs: readonly string[],
): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode,
    clientConnection: { kubeconfig },
    hostnameOverride: nodeName,
    detectLocalMode: "ClusterCIDR",
    clusterCIDR: clusterCidrs.join(","),
    conntrack: {
      maxPerCore: 0,
      min: 0,
      tcpEstablishedTimeout: "0s",
      tcpCloseWaitTimeout: "0s",
    },
    oomScoreAdj: 0,
  };
}
