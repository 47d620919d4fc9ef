import { gcd } from "../../api/gcd.ts";
import { ANNOTATION_CLUSTER_WEIGHTS } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";

/** Maximum sum of an import's weights: nftables has an element for each unit, of each VIP and port. */
const MOST_WEIGHT = 1_000;
/** Maximum clusters of a list, and characters, so that a list of zeros is bounded, too. */
const MOST_CLUSTERS = 1_000;
const MOST_CHARACTERS = 65_536;

/** `c1=90`; a number has no leading zero, so that it is read in one way. */
const ENTRY = /^([^=]+)=(0|[1-9]\d{0,3})$/;

/**
 * The weights of clusters, such as `old=90,new=10`, without a common divisor and without zeros; undefined if there are none. Any error rejects
 * the whole list, because the other weights would have other shares.
 */
export function parseClusterWeights(
  object: unknown,
  complaints: Complaints,
): ReadonlyMap<string, number> | undefined {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_CLUSTER_WEIGHTS);
  if (isUnset(text)) return undefined;
  const weights = typeof text === "string" ? weightsOf(text) : undefined;
  const sum = weights?.values().reduce((total, weight) => total + weight, 0) ?? 0;
  if (weights === undefined || sum < 1 || sum > MOST_WEIGHT) {
    const path = `metadata.annotations[${ANNOTATION_CLUSTER_WEIGHTS}]`;
    return complaints.add("invalid-policy", path, text);
  }
  const positive = [...weights].filter(([, weight]) => weight > 0);
  const divisor = positive.reduce((common, [, weight]) => gcd(common, weight), 0);
  return new Map(positive.map(([cluster, weight]) => [cluster, weight / divisor]));
}

function weightsOf(text: string): Map<string, number> | undefined {
  const entries = text.length > MOST_CHARACTERS ? [] : text.split(",");
  if (entries.length > MOST_CLUSTERS) return undefined;
  const weights = new Map<string, number>();
  for (const entry of entries) {
    const [, cluster = "", weight] = ENTRY.exec(entry.trim()) ?? [];
    if (!isClusterId(cluster) || weights.has(cluster)) return undefined;
    weights.set(cluster, Number(weight));
  }
  return weights;
}
