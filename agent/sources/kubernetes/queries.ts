import {
  ABOUT_GROUP,
  ABOUT_VERSIONS,
  CONTROLLER_NAME,
  LABEL_ADDRESS_MANAGED_BY,
  LABEL_RECORD,
  LABEL_SERVICE_NAME,
  MCS_GROUP,
  MCS_VERSIONS,
} from "../../../api/keys.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource.ts";

/** The resources that the agent reads from an API server. Never Pods, Services or Secrets. */
export const RESOURCES = [
  "serviceimports",
  "endpointslices",
  "nodes",
  "clusterproperties",
  "ipaddresses",
] as const;
/** One of `RESOURCES`. */
export type Resource = (typeof RESOURCES)[number];

/** The query of each resource, on the node `nodeName`. README.md lists the RBAC rules. */
export function queries(nodeName: string): Readonly<Record<Resource, ResourceQuery>> {
  return {
    // Excludes records of exports in a registry on this API server.
    serviceimports: {
      group: MCS_GROUP,
      versions: MCS_VERSIONS,
      resource: "serviceimports",
      labelSelector: `!${LABEL_RECORD}`,
    },
    // Excludes slices of the cluster's own Services: often a hundred times as many, and changing constantly.
    endpointslices: {
      group: "discovery.k8s.io",
      versions: ["v1"],
      resource: "endpointslices",
      labelSelector: LABEL_SERVICE_NAME,
    },
    nodes: {
      group: "",
      versions: ["v1"],
      resource: "nodes",
      fieldSelector: `metadata.name=${nodeName}`,
    },
    // Few clusters have this CRD; flags replace it.
    clusterproperties: {
      group: ABOUT_GROUP,
      versions: ABOUT_VERSIONS,
      resource: "clusterproperties",
      optional: true,
    },
    // Excludes those of Services.
    ipaddresses: {
      group: "networking.k8s.io",
      versions: ["v1", "v1beta1"],
      resource: "ipaddresses",
      labelSelector: `${LABEL_ADDRESS_MANAGED_BY}=${CONTROLLER_NAME}`,
      optional: true,
    },
  };
}
