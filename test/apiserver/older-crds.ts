import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { ControlPlane } from "./control-plane.ts";
import type { ControllerStage } from "./controller-stage.ts";
import { crds, installCrds } from "./crds.ts";
import { ServiceCase } from "./service-case.ts";

const V1ALPHA1 = { version: "multicluster.x-k8s.io/v1alpha1" };
/** Fields of a ServiceImport that came with mcs-api v0.4 and v0.5.1. */
const LATER = [
  "ipFamilies",
  "internalTrafficPolicy",
  "trafficDistribution",
  "conditions",
  "endpointSliceObjects",
];

/**
 * Requirements of clusters that are behind: from now on, c1 serves v1alpha1 only, and c3 has the CRD of a ServiceImport as mcs-api
 * v0.3 shipped it. Their controllers start anew.
 */
export function olderCases(staged: () => ControllerStage): void {
  let stage: ControllerStage;
  before(async () => {
    stage = staged();
    for (const id of ["c1", "c3"]) await stage.cluster(id).stop();
    await installCrds(stage.cluster("c1").plane.admin, ["v1alpha1"]);
    await pruneImports(stage.cluster("c3").plane);
    for (const id of ["c1", "c3"]) await stage.cluster(id).launch();
  });

  test("trap 1: a cluster that serves only v1alpha1 exports, imports and reports conflicts; with a CRD without newer fields the import has the older fields, and is written once", async () => {
    const served = await stage
      .cluster("c1")
      .plane.admin.request("GET", "/apis/multicluster.x-k8s.io/v1beta1/serviceexports");
    assert.equal(served.status, 404);
    const story = await ServiceCase.open(stage, V1ALPHA1);
    for (const [id, port] of Object.entries({ c1: 80, c2: 81 })) {
      await story.serve(id, {
        ...{ internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" },
        ports: [{ name: "http", port, protocol: "TCP" }],
      });
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
      await story.grow();
    }
    // Port 81 is not a port of the import.
    for (const [id, ready] of Object.entries({ c1: "True Ready", c2: "False EndpointsLeftOut" })) {
      await story.untilCondition(id, "Valid", "True Valid");
      await story.untilCondition(id, "Ready", ready);
      await story.untilCondition(id, "Conflict", "True PortConflict");
    }
    for (const id of story.clusters) {
      await story.untilImported(id, ({ spec, status }) => {
        assert.equal(spec.ips?.length, 1);
        assert.deepEqual(status?.clusters, [{ cluster: "c1" }, { cluster: "c2" }]);
        const later = LATER.filter((field) => field in spec || field in (status ?? {}));
        assert.deepEqual(later, id === "c3" ? [] : LATER);
      });
      await story.untilSlices(id, (slices) => assert.equal(slices.length, 1));
    }
    await story.in("c3").atRest();
    for (const id of ["c1", "c2"]) await story.unexport(id);
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("a cluster with the older CRD exports: its API server removes the IP families of its records", async () => {
    const story = await ServiceCase.open(stage, V1ALPHA1);
    await story.serve("c3", { ports: [{ name: "http", port: 80, protocol: "TCP" }] });
    await story.slice("c3", [{ addresses: ["10.3.0.7"] }]);
    await story.export("c3");
    await story.untilCondition("c3", "Ready", "True Ready");
    for (const id of ["c1", "c2"]) {
      await story.untilImported(id, ({ spec }) => assert.equal(spec.ips?.length, 1));
      await story.untilSlices(id, (slices) => assert.equal(slices.length, 1));
    }
    await story.unexport("c3");
    for (const id of story.clusters) await story.untilGone(id);
  });
}

/** The ServiceImport of an older release. */
async function pruneImports({ admin }: ControlPlane): Promise<void> {
  const crd = crds().find(({ spec }) => spec.names.plural === "serviceimports");
  const older: unknown = JSON.parse(JSON.stringify(crd), (key, value: unknown) =>
    LATER.includes(key) ? undefined : value,
  );
  await admin.apply(older as object);
}
