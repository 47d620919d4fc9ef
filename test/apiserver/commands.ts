import { execFileSync } from "node:child_process";

/** Commands that test/kubernetes/build makes. `debian-etcd` is older than what current API servers expect. */
export type KubernetesCommand =
  | "agnhost"
  | "connector"
  | "coredns"
  | "debian-etcd"
  | "etcd"
  | "kube-apiserver"
  | "kube-apiserver-1.24"
  | "kube-controller-manager"
  | "kube-proxy"
  | "kube-scheduler"
  | "kubelet"
  | "kubectl"
  | "helm"
  | "prometheus"
  | "promtool";

const BUILD = new URL("../kubernetes/build", import.meta.url).pathname;

const found = new Map<KubernetesCommand, string>();

/**
 * Where a command is. Builds it if it is not there yet, which takes minutes: `make test` has
 * done that before. What is missing for it is said on standard error.
 */
export function kubernetesCommand(name: KubernetesCommand): string {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  // The script compares its sources with what it has built: a tenth of a second.
  const path =
    found.get(name) ?? execFileSync(BUILD, [name], { encoding: "utf8", stdio: [...stdio] }).trim();
  found.set(name, path);
  return path;
}
