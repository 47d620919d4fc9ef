import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Clusters } from "../cluster/clusters.ts";
import { assertNone, deniedIn } from "./denied.ts";
import { blockWith, functionOf } from "./guide.ts";
import { productImages } from "./images.ts";
import { lifeWithPlugin } from "./join.ts";
import { Reader } from "./reader.ts";
import { tracesIn } from "./rules.ts";

// Stories of two clusters that begin without anything of ours, told one after the other on the same ones: a life with
// `kubectl clusterset`, which leaves nothing, and the part of docs/guides/walk-throughs.md where a person writes imports and slices.

let clusters: Clusters;
before(async () => {
  clusters = await Clusters.create({ clusters: 2, images: await productImages() });
});
after(() => clusters?.remove());

lifeWithPlugin(() => clusters);

test("By hand, then Migration: each command prints what walk-throughs.md shows; no request is denied", async () => {
  const node = clusters.cluster("cluster-1").node("node-1");
  await using reader = new Reader(clusters, "walk-throughs.md", { node });
  await reader.followSection("By hand");
  assert.deepEqual(await tracesIn(clusters, "cluster-2"), []);
  // Of an uninstalled agent, requests are denied until it ends.
  const began = Date.now();
  for (const name of ["identity", "introduce"]) await reader.paste(functionOf("install.md", name));
  await reader.paste(blockWith("mesh-or-hub.md", "registry_kubeconfig()"));
  await reader.followSection("Migration");
  for (const { plane } of clusters.all)
    assertNone(deniedIn(plane.auditFile, (at) => at < began || plane.wasStarting(at)));
});
