import { ABOUT_GROUP, ABOUT_VERSIONS, MCS_GROUP, MCS_VERSIONS } from "../../api/keys.ts";
import type { ApiResource, ResourceQuery } from "./resource.ts";

/** Kinds that programs read and write. */
export const SERVICE_IMPORTS: ApiResource = {
  group: MCS_GROUP,
  versions: MCS_VERSIONS,
  resource: "serviceimports",
  kind: "ServiceImport",
};
export const SERVICE_EXPORTS: ApiResource = {
  group: MCS_GROUP,
  versions: MCS_VERSIONS,
  resource: "serviceexports",
  kind: "ServiceExport",
};
export const ENDPOINT_SLICES: ApiResource = {
  group: "discovery.k8s.io",
  versions: ["v1"],
  resource: "endpointslices",
  kind: "EndpointSlice",
};
export const CLUSTER_PROPERTIES: ApiResource = {
  group: ABOUT_GROUP,
  versions: ABOUT_VERSIONS,
  resource: "clusterproperties",
  kind: "ClusterProperty",
};
export const IP_ADDRESSES: ApiResource = {
  group: "networking.k8s.io",
  versions: ["v1", "v1beta1"],
  resource: "ipaddresses",
  kind: "IPAddress",
};
export const DAEMON_SETS: ApiResource = apps("daemonsets", "DaemonSet");
export const DEPLOYMENTS: ApiResource = apps("deployments", "Deployment");
export const STATEFUL_SETS: ApiResource = apps("statefulsets", "StatefulSet");
export const NAMESPACES: ApiResource = core("namespaces", "Namespace");
export const NODES: ApiResource = core("nodes", "Node");
export const PODS: ApiResource = core("pods", "Pod");
export const CONFIG_MAPS: ApiResource = core("configmaps", "ConfigMap");
export const SERVICE_ACCOUNTS: ApiResource = core("serviceaccounts", "ServiceAccount");
export const SECRETS: ApiResource = core("secrets", "Secret");
export const SERVICES: ApiResource = core("services", "Service");

/** Read for a drill: an autoscaler would undo it. */
export const AUTOSCALERS: ApiResource = {
  group: "autoscaling",
  versions: ["v2", "v1"],
  resource: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
};

function core(resource: string, kind: string): ApiResource {
  return { group: "", versions: ["v1"], resource, kind };
}

function apps(resource: string, kind: string): ApiResource {
  return { group: "apps", versions: ["v1"], resource, kind };
}

/** The query of a kind's objects, all or `which`. PURE. */
export function queryOf(
  { group, versions, resource }: ApiResource,
  which: Partial<ResourceQuery> = {},
): ResourceQuery {
  return { group, versions, resource, ...which };
}
