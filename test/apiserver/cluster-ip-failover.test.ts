import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../stages/agent-process.ts";
import type { ApiObject } from "./api-client.ts";
import { ControllerStage, SLICE, type StagedCluster } from "./controller-stage.ts";

// Failover slices on real API servers, with the rights that deploy/rbac grants, and Kubernetes' own controllers: those of
// EndpointSlices, which must leave them alone, and the garbage collector, which deletes them with their Service. The rest is proved in memory:
// controller/sync/failover*.test.ts.

const KEY = "shop/web";
const SELECTOR = "endpointslice.kubernetes.io/managed-by=cluster-ip-failover.clusterset-proxy.io";
const SERVICE = { apiVersion: "v1", kind: "Service" };
const METADATA = { namespace: "shop", name: "web" };
const LEAVING = { ready: false, serving: true, terminating: true };

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
before(async () => {
  stage = await ControllerStage.open({
    clusters: ["c1", "c2", "c3"],
    controllerManagers: { c1: {} },
  });
  [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  for (const [i, cluster] of stage.clusters.entries()) {
    await cluster.serve(KEY, [`10.${i + 1}.0.7`]);
    await cluster.export(KEY);
  }
  // Only a Service with a selector has a controller of Kubernetes that writes its slices.
  await c1.plane.admin.patch(
    { ...SERVICE, metadata: METADATA },
    { spec: { selector: { app: "web" } } },
  );
  await c1.plane.admin.patch(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
    { metadata: { annotations: { "clusterset-proxy.io/cluster-ip-failover": "true" } } },
  );
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: unknown;
}

function endpointsOf(slices: readonly ApiObject[]): Endpoint[] {
  return slices.flatMap(({ endpoints }) => (endpoints as Endpoint[] | null) ?? []);
}

/** Waits until the Service of c1 fails over to just these addresses. */
async function untilAt(...addresses: string[]): Promise<ApiObject[]> {
  return eventually(async () => {
    const slices = await c1.list(SLICE, "shop", SELECTOR);
    const found = endpointsOf(slices).flatMap((one) => one.addresses);
    assert.deepEqual(found.sort(), addresses, c1.log);
    return slices;
  }, 60_000);
}

test("a Service whose Namespace asks gets slices with the rights of deploy/rbac, and they follow the export", async () => {
  await untilAt("10.2.0.7", "10.3.0.7");
  await c2.endpoints(KEY, ["10.2.0.7", "10.2.0.8"]);
  const slices = await untilAt("10.2.0.7", "10.2.0.8", "10.3.0.7");
  const service = await c1.find(SERVICE, KEY);
  for (const slice of slices) {
    assert.deepEqual(slice.metadata.ownerReferences, [
      { apiVersion: "v1", kind: "Service", name: "web", uid: service?.metadata.uid },
    ]);
    assert.deepEqual(slice.ports, [{ name: "http", port: 8080, protocol: "TCP" }]);
  }
  for (const { conditions } of endpointsOf(slices)) assert.deepEqual(conditions, LEAVING);
  await c2.endpoints(KEY, ["10.2.0.7", "10.2.0.8"], false);
  await untilAt("10.3.0.7");
  await c2.endpoints(KEY, ["10.2.0.7"]);
  await untilAt("10.2.0.7", "10.3.0.7");
});

test("Kubernetes deletes the slices with their Service, and a new Service of the name gets its own", async () => {
  const [old] = await untilAt("10.2.0.7", "10.3.0.7");
  await c1.plane.admin.delete({ ...SERVICE, metadata: METADATA });
  await untilAt();
  await c1.serve(KEY, ["10.1.0.7"]);
  const [slice] = await untilAt("10.2.0.7", "10.3.0.7");
  assert.notDeepEqual(slice?.metadata.ownerReferences, old?.metadata.ownerReferences);
});
