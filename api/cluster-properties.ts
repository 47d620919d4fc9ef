import { clusterOfProperty } from "./endpoint-ranges.ts";
import { isClusterId } from "./names.ts";

/** What the names of these ClusterProperties end with. */
const ROTATION = ".rotation.clusterset-proxy.io";

/**
 * The ClusterProperty in which the controller records how it uses a cluster, for its next start and its other replicas. It is
 * cluster-scoped, so a user who may write slices in a namespace cannot change it.
 */
export function rotationProperty(cluster: string): string {
  return `${cluster}${ROTATION}`;
}

/** The cluster of such a property; undefined for other properties. */
export function clusterOfRotation(name: string): string | undefined {
  const cluster = name.endsWith(ROTATION) ? name.slice(0, -ROTATION.length) : "";
  return isClusterId(cluster) ? cluster : undefined;
}

/** False for what the controller writes about clusters: it does not describe the local one. */
export function isOwnProperty(name: string): boolean {
  return clusterOfProperty(name) === undefined && clusterOfRotation(name) === undefined;
}
