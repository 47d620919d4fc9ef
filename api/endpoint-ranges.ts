import { type Cidr, isCidr, parseCidr } from "./cidr.ts";
import { isClusterId } from "./names.ts";

/** What the names of these ClusterProperties end with. */
const SUFFIX = ".endpoint-cidrs.clusterset-proxy.io";
/** Each endpoint is compared with all ranges. */
export const MOST_ENDPOINT_RANGES = 256;

/**
 * The ClusterProperty with the ranges of another cluster's endpoints, as the controller publishes them for the agents. It is
 * cluster-scoped, so a user who may write slices in a namespace cannot change it.
 */
export function endpointRangesProperty(cluster: string): string {
  return `${cluster}${SUFFIX}`;
}

/** The cluster of such a property; undefined for other properties. */
export function clusterOfProperty(name: string): string | undefined {
  const cluster = name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : "";
  return isClusterId(cluster) ? cluster : undefined;
}

/** The value of such a property. */
export function endpointRangesText(ranges: readonly Cidr[]): string {
  return ranges.map(({ text }) => text).join(",");
}

/** The ranges in such a value; undefined if one is invalid, or if there are none or too many. */
export function parseEndpointRanges(text: string): readonly Cidr[] | undefined {
  const parts = text.split(",", MOST_ENDPOINT_RANGES + 1);
  const ranges = parts.map((part) => parseCidr(part.trim())).filter(isCidr);
  const isWhole = ranges.length === parts.length && ranges.length <= MOST_ENDPOINT_RANGES;
  return isWhole ? ranges : undefined;
}
