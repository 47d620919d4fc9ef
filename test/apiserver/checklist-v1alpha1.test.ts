import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ControllerStage } from "./controller-stage.ts";
import { installCrds } from "./crds.ts";
import { ServiceCase } from "./service-case.ts";

// Two clusters of which c1 is behind: it serves v1alpha1 only. The VIPs of both are of IPv4 only.

const V1ALPHA1 = { version: "multicluster.x-k8s.io/v1alpha1" };
describe("a cluster that serves v1alpha1 only, beside one that serves both", {
  concurrency: 3,
}, () => {
  let stage: ControllerStage;
  before(async () => {
    stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
    await installCrds(stage.cluster("c1").plane.admin, ["v1alpha1"]);
    await stage.start();
  });
  after(() => stage[Symbol.asyncDispose]());

  test("trap 1: a cluster that serves only v1alpha1 exports, imports and reports conflicts", async () => {
    const served = await stage
      .cluster("c1")
      .plane.admin.request("GET", "/apis/multicluster.x-k8s.io/v1beta1/serviceexports");
    assert.equal(served.status, 404);
    const story = await ServiceCase.open(stage, V1ALPHA1);
    for (const [id, port] of [
      ["c1", 80],
      ["c2", 81],
    ] as const) {
      await story.serve(id, { ports: [{ name: "http", port, protocol: "TCP" }] });
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
      await story.grow();
    }
    for (const id of story.clusters) {
      await story.untilCondition(id, "Valid", "True Valid");
      // Port 81 is not a port of the import.
      await story.untilCondition(
        id,
        "Ready",
        id === "c1" ? "True Ready" : "False EndpointsLeftOut",
      );
      await story.untilCondition(id, "Conflict", "True PortConflict");
      await story.untilImported(id, ({ spec, status }) => {
        assert.equal(spec.ips?.length, 1);
        assert.deepEqual(status?.clusters, [{ cluster: "c1" }, { cluster: "c2" }]);
      });
      await story.untilSlices(id, (slices) => assert.equal(slices.length, 1));
    }
    const { status } = await story.untilImported("c1", () => {});
    assert.equal(status?.endpointSliceObjects, "Present");
    for (const id of story.clusters) await story.unexport(id);
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("item 26: an import of a family without configured VIPs has none, and its condition has the reason", async () => {
    const story = await ServiceCase.open(stage, V1ALPHA1);
    await story.serve("c1", { ipFamilies: ["IPv6"] });
    await story.export("c1");
    await story.untilImported("c1", ({ spec, status }) => {
      assert.deepEqual(spec.ips ?? [], []);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      assert.deepEqual([ready?.status, ready?.reason], ["False", "IPFamilyNotSupported"]);
    });
    await story.untilCondition("c1", "Valid", "True Valid");
  });

  test("item 26: of two families the one with VIPs is served, and the message names the other", async () => {
    const story = await ServiceCase.open(stage, V1ALPHA1);
    await story.serve("c1", { ipFamilyPolicy: "RequireDualStack" });
    await story.export("c1");
    await story.untilImported("c1", ({ spec, status }) => {
      assert.deepEqual(spec.ipFamilies, ["IPv4"]);
      assert.equal(spec.ips?.length, 1);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      assert.equal(ready?.status, "True");
      assert.match(ready?.message ?? "", /range-missing: no IPv6 address/);
    });
  });
});
