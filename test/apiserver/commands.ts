import { execFileSync } from "node:child_process";

/** Commands that test/kubernetes/build knows: the `tool` lines of test/kubernetes/go.mod. */
export type KubernetesCommand =
  | "etcd"
  | "kube-apiserver"
  | "kube-controller-manager"
  | "kube-proxy";

const BUILD = new URL("../kubernetes/build", import.meta.url).pathname;

/**
 * Where a command is. Builds it if it is not there yet, which takes minutes: `make test` has
 * done that before. What is missing for it is said on standard error.
 */
export function kubernetesCommand(name: KubernetesCommand): string {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  return execFileSync(BUILD, [name], { encoding: "utf8", stdio: [...stdio] }).trim();
}
