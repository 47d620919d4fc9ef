import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import { ControllerStage, IMPORT, type StagedCluster } from "./controller-stage.ts";
import type { ServiceImport } from "./service-case.ts";

// A rival may write every ServiceImport of its namespace; real API servers say who was first.

const ADDRESS = { apiVersion: "networking.k8s.io/v1", kind: "IPAddress" };

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
  [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await stage.start();
  await c2.namespace("shop");
  await c2.namespace("evil");
  await writeImport("evil/old", []);
  await c1.serve("shop/web", ["10.1.0.10"]);
  await c1.export("shop/web");
  await c2.untilImported("shop/web", ["10.1.0.10"]);
});
after(() => stage[Symbol.asyncDispose]());

/** Applies an import of c2 as its author would. */
async function writeImport(key: string, ips: readonly string[]): Promise<void> {
  const [namespace = "", name = ""] = key.split("/");
  await c2.plane.admin.apply({
    ...{ apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" },
    metadata: { namespace, name },
    spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }], ips },
  });
}

async function vipsOf(key: string): Promise<readonly string[]> {
  const found = (await c2.find(IMPORT, key)) as ServiceImport | undefined;
  return found?.spec.ips ?? [];
}

/** The import that the IPAddress of a VIP names. */
async function holderOf(vip: string): Promise<string | undefined> {
  const found = await c2.plane.admin.find({ ...ADDRESS, metadata: { name: vip } });
  const spec = found?.spec as { parentRef: Record<string, string> } | undefined;
  return spec && `${spec.parentRef.resource} ${spec.parentRef.namespace}/${spec.parentRef.name}`;
}

async function untilReady(key: string, expected: string): Promise<void> {
  await eventually(async () => {
    const found = (await c2.find(IMPORT, key)) as ServiceImport | undefined;
    const ready = found?.status?.conditions?.find(({ type }) => type === "Ready");
    assert.equal(`${ready?.status} ${ready?.reason}`, expected, c2.log);
  });
}

test("each VIP has an IPAddress, and an older import that lists it gets a condition instead", async () => {
  const [vip = ""] = await vipsOf("shop/web");
  assert.equal(await holderOf(vip), "serviceimports shop/web");
  await writeImport("evil/old", [vip]);
  await untilReady("evil/old", "False VIPConflict");
  await untilReady("shop/web", "True Ready");
  assert.deepEqual(await vipsOf("shop/web"), [vip]);
  assert.equal(await holderOf(vip), "serviceimports shop/web");
});

test("an address that another program has allocated, and one in a Service range, stay with them", async () => {
  const parentRef = { resource: "services", namespace: "default", name: "kubernetes" };
  await c2.plane.admin.apply({
    ...ADDRESS,
    metadata: { name: "241.0.0.99" },
    spec: { parentRef },
  });
  await writeImport("evil/old", ["241.0.0.99", "10.96.0.77"]);
  await eventually(async () => {
    const found = (await c2.find(IMPORT, "evil/old")) as ServiceImport | undefined;
    const [ready] = found?.status?.conditions ?? [];
    assert.match(ready?.message ?? "", /vip-conflict: 241\.0\.0\.99 /, c2.log);
    assert.match(ready?.message ?? "", /vip-not-allowed: 10\.96\.0\.77 /);
  });
  assert.equal(await holderOf("241.0.0.99"), "services default/kubernetes");
  assert.equal(await holderOf("10.96.0.77"), undefined, "outside the ranges of VIPs");
});

test("a VIP is free again when its import is deleted", async () => {
  const [vip = ""] = await vipsOf("shop/web");
  await c1.plane.admin.delete({
    ...{ apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport" },
    metadata: { namespace: "shop", name: "web" },
  });
  await c2.untilGone("shop/web");
  await eventually(async () => assert.equal(await holderOf(vip), undefined, c2.log));
  await writeImport("evil/old", [vip]);
  await eventually(async () =>
    assert.equal(await holderOf(vip), "serviceimports evil/old", c2.log),
  );
  await untilReady("evil/old", "True Ready");
});
