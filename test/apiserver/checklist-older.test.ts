import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ControlPlane } from "./control-plane.ts";
import { ControllerStage } from "./controller-stage.ts";
import { crds } from "./crds.ts";
import { ServiceCase } from "./service-case.ts";

// Two clusters of which c2 imports only: its ServiceImport is as mcs-api v0.3 shipped it, without fields that came later.

/** Fields of a ServiceImport that came with mcs-api v0.4 and v0.5.1. */
const LATER = [
  "ipFamilies",
  "internalTrafficPolicy",
  "trafficDistribution",
  "conditions",
  "endpointSliceObjects",
];

describe("clusters with older CRDs", () => {
  let stage: ControllerStage;
  before(async () => {
    stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
    await pruneImports(stage.cluster("c2").plane);
    await stage.start();
  });
  after(() => stage[Symbol.asyncDispose]());

  test("trap 1: with a CRD without newer fields the import has the older fields, and is written once", async () => {
    const story = await ServiceCase.open(stage);
    await story.serve("c1", { internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" });
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    const { spec, status } = await story.untilImported("c2", (found) => {
      assert.equal(found.spec.ips?.length, 1);
      assert.deepEqual(found.status?.clusters, [{ cluster: "c1" }]);
    });
    for (const field of LATER) assert.ok(!(field in spec) && !(field in (status ?? {})), field);
    await story.in("c2").atRest();
  });
});

/** The ServiceImport of an older release. */
async function pruneImports({ admin }: ControlPlane): Promise<void> {
  const crd = crds().find(({ spec }) => spec.names.plural === "serviceimports");
  const older: unknown = JSON.parse(JSON.stringify(crd), (key, value: unknown) =>
    LATER.includes(key) ? undefined : value,
  );
  await admin.apply(older as object);
}
