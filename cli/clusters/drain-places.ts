import {
  ANNOTATION_DRAIN,
  LABEL_PEER,
  LABEL_REGISTRY,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
} from "../../api/keys.ts";
import { fieldAt, textField } from "../../api/parse/fields.ts";
import { CLUSTER_PROPERTIES, NAMESPACES, queryOf, SECRETS } from "../../common/kubernetes/kinds.ts";
import { metaOf, type ObjectMeta } from "../../common/kubernetes/object-meta.ts";
import type { ApiResource, ObjectName } from "../../common/kubernetes/resource.ts";
import { INSTALL_NAMESPACE } from "../install/workloads.ts";
import type { Cluster } from "./cluster.ts";

/** Where a drain is stated, in the order in which `drain` prefers them (design 31). */
export const PLACES = ["own", "hub", "peer"] as const;
/** One of `PLACES`: on the cluster's own side, on the hub, or in one importing cluster. */
export type Place = (typeof PLACES)[number];

/** Where each drain takes effect. */
export const EFFECTS: Readonly<Record<Place, string>> = {
  own: "in all clusters",
  hub: "in all clusters of the hub",
  peer: "in this importing cluster only",
};

/** An object that can state a drain of a cluster. */
export interface DrainPlace {
  readonly place: Place;
  /** The cluster that has the object. */
  readonly on: Cluster;
  readonly resource: ApiResource;
  readonly name: ObjectName;
  readonly seen: ObjectMeta;
  /** The present annotation. */
  readonly drain: string | undefined;
}

/** Where a drain can be stated in one cluster. */
export interface ClusterPlaces {
  readonly on: Cluster;
  /** The clusterset that the cluster is a member of; absent on a hub. */
  readonly clusterSet?: string;
  readonly places: readonly DrainPlace[];
}

/** Every object of a cluster that can state a drain of `cluster`. Rejects with an ApiFault. */
export async function drainPlaces(on: Cluster, cluster: string): Promise<ClusterPlaces> {
  const [properties, namespaces, secrets] = await Promise.all([
    on.list(
      queryOf(CLUSTER_PROPERTIES, {
        optional: true,
      }),
    ),
    on.list(queryOf(NAMESPACES, { labelSelector: `${LABEL_REGISTRY}=${cluster}` })),
    on.list(
      queryOf(SECRETS, { namespace: INSTALL_NAMESPACE, labelSelector: `${LABEL_PEER}=${cluster}` }),
    ),
  ]);
  const property = (name: string) =>
    properties.find((object) => fieldAt(object, "metadata", "name") === name);
  const clusterSet = fieldAt(property(PROPERTY_CLUSTER_SET), "spec", "value");
  const identity = property(PROPERTY_CLUSTER_ID);
  const own = fieldAt(identity, "spec", "value") === cluster ? [identity] : [];
  // In a mesh, the cluster's registry is its own namespace, on which an annotation has no effect.
  const hub = own.length > 0 ? [] : namespaces;
  const places = [
    ...own.flatMap((object) => placeOf("own", on, CLUSTER_PROPERTIES, object)),
    ...hub.flatMap((object) => placeOf("hub", on, NAMESPACES, object)),
    ...secrets.flatMap((object) => placeOf("peer", on, SECRETS, object)),
  ];
  return { on, places, ...(typeof clusterSet === "string" && { clusterSet }) };
}

function placeOf(place: Place, on: Cluster, resource: ApiResource, object: unknown): DrainPlace[] {
  const seen = metaOf(object);
  const name = textField(fieldAt(object, "metadata"), "name");
  const namespace = textField(fieldAt(object, "metadata"), "namespace");
  if (seen === undefined || name === undefined) return [];
  const drain = fieldAt(object, "metadata", "annotations", ANNOTATION_DRAIN);
  return [
    {
      ...{ place, on, resource, seen },
      name: { name, ...(namespace !== undefined && { namespace }) },
      drain: typeof drain === "string" ? drain : undefined,
    },
  ];
}
