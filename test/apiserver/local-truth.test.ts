import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { registryNamespace } from "../../controller/registry/names.ts";
import { eventually } from "../stages/agent-process.ts";
import { ControllerStage, IMPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

// A cluster imports its own endpoints whatever a real API server rejects in its registry, by admission or quota. hub-drill has hubs that reject by RBAC,
// or are down.

let stage: ControllerStage;
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
  await stage.start();
  for (const cluster of stage.clusters) await cluster.namespace("shop");
  const c1 = stage.cluster("c1");
  await c1.serve("shop/web", ["10.1.0.7"]);
  await c1.export("shop/web");
  await everywhere(["10.1.0.7"]);
  await c1.untilCondition("shop/web", "Ready", "True Ready");
});
after(() => stage?.[Symbol.asyncDispose]());

/** Waits until all clusters import just these endpoints of shop/web, all of them ready. */
async function everywhere(addresses: readonly string[]) {
  for (const cluster of stage.clusters) {
    await cluster.untilImported("shop/web", addresses);
    await cluster.untilReady(
      "shop/web",
      Object.fromEntries(addresses.map((one) => [one, "ready"])),
    );
  }
}

/** A pod comes, becomes unready, and goes: the cluster's own import follows each time. */
async function comesAndGoes(cluster: StagedCluster): Promise<void> {
  await cluster.endpoints("shop/web", ["10.1.0.7", "10.1.0.8"]);
  await cluster.untilImported("shop/web", ["10.1.0.7", "10.1.0.8"]);
  await cluster.endpoints("shop/web", ["10.1.0.7", "10.1.0.8"], false);
  await cluster.untilReady("shop/web", { "10.1.0.7": "dead", "10.1.0.8": "dead" });
  await cluster.endpoints("shop/web", ["10.1.0.8"]);
  await cluster.untilImported("shop/web", ["10.1.0.8"]);
  await cluster.untilReady("shop/web", { "10.1.0.8": "ready" });
}

test("a pod that comes and goes while an admission policy rejects a mesh's registry is in its cluster's import", async () => {
  const c1 = stage.cluster("c1");
  const { admin } = c1.plane;
  const [policy, binding] = rejection(registryNamespace("c1"));
  await admin.apply(policy);
  await admin.apply(binding);
  // The API server enforces a new policy after a moment.
  const probe = {
    ...SLICE,
    metadata: { namespace: registryNamespace("c1"), name: "probe" },
    addressType: "IPv4",
    endpoints: [],
  };
  await eventually(() => assert.rejects(admin.apply(probe), /closed/), 30_000);
  await comesAndGoes(c1);
  await c1.untilCondition("shop/web", "Ready", "False Failed");
  await stage.cluster("c2").untilImported("shop/web", ["10.1.0.7"]);
  await admin.delete(binding);
  await everywhere(["10.1.0.8"]);
  await c1.untilCondition("shop/web", "Ready", "True Ready");
});

/** A policy that rejects all slices of a namespace, and its binding. */
function rejection(namespace: string) {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "closed" };
  const resourceRules = [
    {
      apiGroups: ["discovery.k8s.io"],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["endpointslices"],
    },
  ];
  const expression = `object.metadata.namespace != "${namespace}"`;
  const validations = [{ expression, message: "closed" }];
  const matchConstraints = { resourceRules };
  const spec = { failurePolicy: "Fail", matchConstraints, validations };
  return [
    { apiVersion, kind: "ValidatingAdmissionPolicy", metadata, spec },
    {
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: metadata.name, validationActions: ["Deny"] },
    },
  ] as const;
}

test("an export that a quota keeps out of the registry is imported by its own cluster alone", async () => {
  const c1 = stage.cluster("c1");
  const hard = { "count/serviceimports.multicluster.x-k8s.io": "1" };
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { namespace: registryNamespace("c1"), name: "one" },
  };
  await c1.plane.admin.apply({ ...quota, spec: { hard } });
  await c1.plane.admin.patch(quota, { status: { hard, used: hard } }, "status");
  await c1.serve("shop/api", ["10.1.0.11"]);
  await c1.export("shop/api");
  await c1.untilImported("shop/api", ["10.1.0.11"]);
  await c1.untilCondition("shop/api", "Ready", "False Failed");
  assert.equal(await stage.cluster("c2").find(IMPORT, "shop/api"), undefined);
  await c1.plane.admin.delete(quota);
  await stage.cluster("c2").untilImported("shop/api", ["10.1.0.11"]);
});
