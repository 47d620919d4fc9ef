import { execFileSync } from "node:child_process";

/** Commands that test/kubernetes/build makes. `debian-etcd` is older than what current API servers expect. */
export type KubernetesCommand =
  | "connector"
  | "coredns"
  | "debian-etcd"
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-proxy"
  | "kubectl"
  | "helm"
  | "prometheus"
  | "promtool";

const BUILD = new URL("../kubernetes/build", import.meta.url).pathname;

/**
 * Where a command is. Builds it if it is not there yet, which takes minutes: `make test` has
 * done that before. What is missing for it is said on standard error.
 */
export function kubernetesCommand(name: KubernetesCommand): string {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  return execFileSync(BUILD, [name], { encoding: "utf8", stdio: [...stdio] }).trim();
}
