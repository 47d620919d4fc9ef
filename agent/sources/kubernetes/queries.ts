import {
  ABOUT_GROUP,
  ABOUT_VERSIONS,
  LABEL_RECORD,
  LABEL_SERVICE_NAME,
  MCS_GROUP,
  MCS_VERSIONS,
} from "../../../api/keys.ts";
import type { ResourceQuery } from "../../../common/kubernetes/resource-query.ts";

/** What the agent reads of an API server, by the name of the resource. Never a Pod, a Service or a Secret. */
export const RESOURCES = [
  "serviceimports",
  "endpointslices",
  "nodes",
  "clusterproperties",
] as const;
/** One of `RESOURCES`. */
export type Resource = (typeof RESOURCES)[number];

/** What is asked for of each resource, on the node `nodeName`. README.md names the rights that this takes. */
export function queries(nodeName: string): Readonly<Record<Resource, ResourceQuery>> {
  return {
    // Records of exports, which a registry on this API server holds, are nothing to serve.
    serviceimports: {
      group: MCS_GROUP,
      versions: MCS_VERSIONS,
      resource: "serviceimports",
      labelSelector: `!${LABEL_RECORD}`,
    },
    // A cluster's own slices may be a hundred times as many, and change all the time.
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
    // Few clusters have the kind: flags say what it would.
    clusterproperties: {
      group: ABOUT_GROUP,
      versions: ABOUT_VERSIONS,
      resource: "clusterproperties",
      optional: true,
    },
  };
}
