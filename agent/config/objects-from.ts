import type { Environment } from "../../common/config/arguments.ts";
import type { FlagValues } from "./flags.ts";
import type { Command } from "./program.ts";

/** The one source of objects: two could contradict each other. */
export type ObjectsFrom =
  | { readonly kind: "manifests"; readonly directory: string }
  /** Without a kubeconfig: the API server of the pod's cluster. */
  | { readonly kind: "kubernetes"; readonly kubeconfig?: string };

/** Set by the kubelet in every container. */
const IN_CLUSTER = "KUBERNETES_SERVICE_HOST";

/** True for the commands that read objects. PURE. */
export function readsObjects(command: Command): boolean {
  return command === "run" || command === "render" || command === "plan";
}

/** The source of objects; undefined if none is configured. Flags take precedence, in a pod as well. PURE. */
export function objectsFrom(
  { manifests, kubeconfig }: Pick<FlagValues, "manifests" | "kubeconfig">,
  env: Environment,
): ObjectsFrom | undefined {
  if (manifests !== undefined) return { kind: "manifests", directory: manifests };
  if (kubeconfig !== undefined) return { kind: "kubernetes", kubeconfig };
  return (env[IN_CLUSTER] ?? "") === "" ? undefined : { kind: "kubernetes" };
}
