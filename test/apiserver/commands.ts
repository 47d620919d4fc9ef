import { execFileSync } from "node:child_process";

/** Commands that test/kubernetes/build knows: the `tool` lines of its files go.mod. */
export type KubernetesCommand =
  | "coredns"
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-proxy"
  | "kubectl"
  | "helm"
  | "prometheus"
  | "promtool";

const BUILD = new URL("../kubernetes/build", import.meta.url).pathname;
const DEBIAN_ETCD = new URL("../kubernetes/debian-etcd", import.meta.url).pathname;

/**
 * Where a command is. Builds it if it is not there yet, which takes minutes: `make test` has
 * done that before. What is missing for it is said on standard error.
 */
export function kubernetesCommand(name: KubernetesCommand): string {
  return outputOf(BUILD, [name]);
}

/** The path of the etcd of Debian 12, which is older than what current API servers expect. Downloads it if needed. */
export function debianEtcd(): string {
  return outputOf(DEBIAN_ETCD, []);
}

function outputOf(program: string, args: readonly string[]): string {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  return execFileSync(program, [...args], { encoding: "utf8", stdio: [...stdio] }).trim();
}
