/** The objects by which a platform is recognised. Undefined: absent, or not readable. */
export interface PlatformObjects {
  /** As `/version` has it, such as `v1.33.4-eks-abc`. */
  readonly gitVersion: string;
  readonly nodes: readonly unknown[];
  /** Of all namespaces. */
  readonly daemonSets: readonly unknown[];
  /** ConfigMap `kube-system/cilium-config`. */
  readonly ciliumConfig?: unknown;
  /** Calico's FelixConfiguration `default`, and its operator's Installation `default`. */
  readonly felix?: unknown;
  readonly installation?: unknown;
  /** OpenShift's network.operator.openshift.io `cluster`. */
  readonly networkOperator?: unknown;
  /** ConfigMap `kube-system/kube-proxy` or, on EKS, `kube-system/kube-proxy-config`. */
  readonly kubeProxy?: unknown;
  /** ConfigMap `kube-system/kubeadm-config`. */
  readonly kubeadm?: unknown;
  /** Service `default/kubernetes`. */
  readonly kubernetesService?: unknown;
  /** Why some of them are not readable, as sentences. */
  readonly unread: readonly string[];
}

/** A product whose clusters differ from those of kubeadm (docs/guides/platforms.md). */
export type Product = "aks" | "eks" | "gke" | "k3s" | "openshift" | "rke2";
