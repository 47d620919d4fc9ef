import type { Environment } from "../../common/config/arguments.ts";
import type { FlagValues } from "./flags.ts";
import type { Command } from "./program.ts";

/** Where objects come from: exactly one place, so that no two ever contradict each other. */
export type ObjectsFrom =
  | { readonly kind: "manifests"; readonly directory: string }
  /** Without a kubeconfig: the API server of the pod's own cluster. */
  | { readonly kind: "kubernetes"; readonly kubeconfig?: string };

/** What the kubelet puts into every container, and nobody else into anything. */
const IN_CLUSTER = "KUBERNETES_SERVICE_HOST";

/** True for the commands that read objects. PURE. */
export function readsObjects(command: Command): boolean {
  return command === "run" || command === "render" || command === "plan";
}

/** Where objects come from; undefined if nothing says so. What a flag says counts, in a pod too. PURE. */
export function objectsFrom(
  { manifests, kubeconfig }: Pick<FlagValues, "manifests" | "kubeconfig">,
  env: Environment,
): ObjectsFrom | undefined {
  if (manifests !== undefined) return { kind: "manifests", directory: manifests };
  if (kubeconfig !== undefined) return { kind: "kubernetes", kubeconfig };
  return (env[IN_CLUSTER] ?? "") === "" ? undefined : { kind: "kubernetes" };
}
