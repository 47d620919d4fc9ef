import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { parseAllDocuments } from "yaml";
import type { ApiObject } from "./api-client.ts";
import { type ControllerStage, IMPORT, type StagedCluster } from "./controller-stage.ts";
import type { ServiceImport } from "./service-case.ts";

// Published walk-throughs, as their manifests stand: imports that a person wrote, and a Service that is exported. Exports that adopt such an import
// and hand it back: controller/import/import-of.test.ts and controller/sync/other-writers.test.ts.

const MANIFESTS = new URL("../scenarios/manifests/", import.meta.url);

/** The clusters allow explicit VIPs in 1.2.3.0/24. */
export function byHandCases(stage: () => ControllerStage): void {
  let cls1: StagedCluster;
  let cls2: StagedCluster;
  before(async () => {
    [cls1, cls2] = [stage().cluster("c1"), stage().cluster("c2")];
    for (const cluster of [cls1, cls2]) await cluster.namespace("demo");
  });

  test("by-hand.yaml: an import without a VIP gets one, and no other field; an import with a VIP keeps it; slices are not changed", async () => {
    const written = await load(cls1, "by-hand.yaml");
    const { spec, metadata } = await untilVip(cls1, "serve");
    assert.match(spec.ips?.join() ?? "", /^241\.\d+\.\d+\.\d+$/);
    const [before] = written.filter(({ metadata: { name } }) => name === "serve");
    const { ips: _, ...rest } = spec;
    assert.deepEqual(rest, before?.spec);
    assert.deepEqual(metadata.labels, before?.metadata.labels);
    await cls1.atRest();
    assert.deepEqual((await importOf(cls1, "serve-with-vip")).spec.ips, ["1.2.3.4"]);
    const kept = written.filter(({ metadata: { name } }) => name !== "serve");
    assert.equal(kept.length, 3);
    for (const object of kept) assert.deepEqual(await cls1.plane.admin.get(object), object);
    assert.deepEqual(await cls2.list(IMPORT, "demo"), [], "nobody exports it");
  });

  test("by-hand.yaml: the VIP stays when the user applies the file again", async () => {
    const { spec, metadata } = await importOf(cls1, "serve");
    await load(cls1, "by-hand.yaml");
    await cls1.atRest();
    const again = await importOf(cls1, "serve");
    assert.deepEqual([again.spec, again.metadata.uid], [spec, metadata.uid]);
  });

  test("exported.yaml: the import appears in every cluster with the namespace, with a VIP and slices", async () => {
    await load(cls1, "exported.yaml");
    const addresses = ["10.10.66.181", "10.10.78.125", "10.10.86.76"];
    for (const cluster of [cls1, cls2]) await cluster.untilImported("demo/nginx-hello", addresses);
  });
}

/** Applies a file as its author would, but for the identity of the cluster; what the API server made of it. */
async function load({ plane }: StagedCluster, file: string): Promise<ApiObject[]> {
  const documents = parseAllDocuments(readFileSync(new URL(file, MANIFESTS), "utf8"));
  const objects: ApiObject[] = [];
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    const object = document.toJS() as ApiObject;
    // These clusters have an identity.
    if (object.kind !== "ClusterProperty") objects.push(await plane.admin.apply(object));
  }
  return objects;
}

async function importOf(cluster: StagedCluster, name: string): Promise<ServiceImport> {
  return (await cluster.plane.admin.get({
    ...IMPORT,
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    metadata: { namespace: "demo", name },
  })) as ServiceImport;
}

async function untilVip(cluster: StagedCluster, name: string): Promise<ServiceImport> {
  await cluster.untilImported(`demo/${name}`, ["10.10.0.7", "10.12.0.7"]);
  return importOf(cluster, name);
}
