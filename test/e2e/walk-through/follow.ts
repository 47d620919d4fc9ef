import type { Clusters } from "../../cluster/clusters.ts";
import { blocksOf } from "../guide.ts";
import { Reader } from "../reader.ts";

/** The guide of these walk-throughs. */
export const GUIDE = "walk-throughs.md";

/** A user who follows it, also with a shell on the first node of cluster-1. */
export function readerOf(clusters: Clusters): Reader {
  return new Reader(clusters, GUIDE, { node: clusters.cluster("cluster-1").node("node-1") });
}

/** Commands of a story that were not followed. */
export function unread(reader: Reader, story: string): string[] {
  return blocksOf(GUIDE, story).filter((block) => reader.left.includes(block));
}
