import { registryNamespace } from "../../controller/registry/names.ts";
import type { InstallObject } from "./install-object.ts";
import { DNS_RIGHTS, programs, type RegistryMode } from "./manifests.ts";
import { INSTALL_NAMESPACE, WORKLOADS } from "./workloads.ts";

/** The programs' workloads, which are deleted before all else, so that nothing writes any more. PURE. */
export function workloadsToDelete(
  mode: RegistryMode,
  components: readonly string[],
): InstallObject[] {
  const isWorkload = ({ kind, metadata }: InstallObject) =>
    WORKLOADS.some((one) => one.kind === kind && one.name === metadata.name);
  return programs(mode, {}, components).filter(isWorkload);
}

/** What else a cluster that leaves loses, in this order. PURE. */
export function programsToDelete(
  mode: RegistryMode,
  id: string,
  components: readonly string[],
): InstallObject[] {
  const own = programs(mode, {}, components);
  const namespaces = own.filter(({ kind }) => kind === "Namespace");
  // A namespace takes along what is in it. Permissions last: programs end in good order.
  const others = own.filter(
    ({ kind, metadata }) => kind !== "Namespace" && metadata.namespace !== INSTALL_NAMESPACE,
  );
  const registry = mode === "mesh" ? [objectOf("Namespace", registryNamespace(id))] : [];
  return [...DNS_RIGHTS, ...namespaces, ...registry, ...others];
}

/** By what another member of a mesh knows the cluster that leaves. `secrets`: names of its Secrets there. PURE. */
export function tracesInPeer(
  peer: string,
  leaving: string,
  secrets: readonly string[],
): InstallObject[] {
  return [
    ...secrets.map((name) => objectOf("Secret", name, INSTALL_NAMESPACE)),
    // kube-controller-manager deletes its tokens.
    objectOf("ServiceAccount", leaving, registryNamespace(peer)),
  ];
}

/** By what a hub knows it. PURE. */
export function tracesOnHub(leaving: string, membersNamespace: string): InstallObject[] {
  return [
    objectOf("ServiceAccount", leaving, membersNamespace),
    objectOf("Namespace", registryNamespace(leaving)),
  ];
}

/** The name of an object of the core group. PURE. */
export function objectOf(kind: string, name: string, namespace?: string): InstallObject {
  return {
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace !== undefined && { namespace }) },
  };
}
