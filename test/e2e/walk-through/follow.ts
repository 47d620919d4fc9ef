import { test } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { blocksOf } from "../guide.ts";
import { Reader } from "../reader.ts";

/** The guide of these walk-throughs. */
export const GUIDE = "walk-throughs.md";

/** How long kubelets, controllers and DNS may take to follow. */
export const PATIENCE_MS = 60_000;

/** A user who follows it, also with a shell on the first node of cluster-1. */
export function readerOf(clusters: Clusters): Reader {
  return new Reader(clusters, GUIDE, { node: clusters.cluster("cluster-1").node("node-1") });
}

/** Commands of a story that were not followed. */
export function unread(reader: Reader, story: string): string[] {
  return blocksOf(GUIDE, story).filter((block) => reader.left.includes(block));
}

/** Registers the parts of a walk-through in order. After a failed part the rest is not run. */
export function parts(): (title: string, tell: () => Promise<void>) => void {
  let failed: string | undefined;
  return (title, tell) => {
    test(title, async (context) => {
      if (failed !== undefined) return context.skip(`not told: failed before: ${failed}`);
      try {
        await tell();
      } catch (error) {
        failed = title;
        throw error;
      }
    });
  };
}
