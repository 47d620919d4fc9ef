import { isClusterId, isLabelValue } from "../../api/names.ts";
import type { Reader } from "../../common/config/values.ts";

/** `cluster=region` pairs, separated by commas. */
export const clusterRegions: Reader<ReadonlyMap<string, string>> = (given) => {
  const regions = new Map<string, string>();
  for (const part of given === "" ? [] : given.split(",")) {
    const [cluster = "", region = "", ...rest] = part.trim().split("=");
    if (!isClusterId(cluster) || !isLabelValue(region) || rest.length > 0) {
      return { expected: "expected pairs like cluster-a=eu-west,cluster-b=us-east" };
    }
    if (regions.has(cluster)) return { expected: `names cluster ${cluster} twice` };
    regions.set(cluster, region);
  }
  return { value: regions };
};
