import { test } from "node:test";
import type { Clusters } from "../../cluster/clusters.ts";
import { blocksOf } from "../guide.ts";
import { Reader } from "../reader.ts";

/** The guide whose stories are told here. */
export const GUIDE = "walk-throughs.md";

/** How long kubelets, controllers and DNS may take to follow. */
export const PATIENCE_MS = 60_000;

/** A person who follows it, with a shell on the first node of cluster-1 as well. */
export function readerOf(clusters: Clusters): Reader {
  return new Reader(clusters, GUIDE, { node: clusters.cluster("cluster-1").node("node-1") });
}

/** Commands of a story that were not followed. */
export function unread(reader: Reader, story: string): string[] {
  return blocksOf(GUIDE, story).filter((block) => reader.left.includes(block));
}

/** Registers one part of a story after the other. When one has failed, what comes after it is not told. */
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
