import assert from "node:assert/strict";
import { test } from "node:test";
import { type CaseStage, ServiceCase } from "../service-case.ts";
import { exported, exportedTwice, HELLO, hello } from "./fixture.ts";

/** Cases of the suite about imports that come, stay and go. */
export function lifeCases(stage: () => CaseStage): void {
  test("C01 (required): when one of two exports is deleted the import stays; with the last one it is deleted", async () => {
    const story = await exportedTwice(stage());
    const both = await story.untilImported("cluster-1", ({ status }) =>
      assert.deepEqual(status?.clusters, [{ cluster: "cluster-1" }, { cluster: "cluster-2" }]),
    );
    await story.unexport("cluster-1");
    const one = await story.untilImported("cluster-1", ({ status }) =>
      assert.deepEqual(status?.clusters, [{ cluster: "cluster-2" }]),
    );
    const changes = await story.changesSince("cluster-1", both);
    assert.ok(changes.length > 0 && changes.every(({ type }) => type === "MODIFIED"));
    assert.deepEqual(one.spec.ips, both.spec.ips);
    assert.ok(changes.every(({ to }) => to.spec.ips?.join() === both.spec.ips?.join()));
    await story.unexport("cluster-2");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("C02 (required): every cluster imports a ClusterIP Service as ClusterSetIP until the export is deleted", async () => {
    const story = await exported(stage());
    await story.untilCondition("cluster-1", "Valid", "True Valid");
    await story.everywhere(({ spec }) => assert.equal(spec.type, "ClusterSetIP"));
    await story.unexport("cluster-1");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("C10 (required): a headless Service is imported as Headless, with its families, until the export is deleted", async () => {
    const story = await exported(stage(), {
      ...HELLO,
      clusterIP: "None",
      sessionAffinity: "None",
      sessionAffinityConfig: null,
    });
    await story.everywhere(({ spec }) => {
      assert.equal(spec.type, "Headless");
      assert.deepEqual(spec.ipFamilies, ["IPv4", "IPv6"], "C25 and C27 go by them");
    });
    await story.unexport("cluster-1");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("C11 (required): a headless import never has a VIP", async () => {
    const story = await exported(stage(), { ...HELLO, clusterIP: "None" });
    await story.everywhere(({ status }) => assert.equal(status?.clusters?.length, 1));
    await story.settle("cluster-1");
    for (const id of story.clusters) {
      assert.deepEqual((await story.imported(id))?.spec.ips ?? [], []);
    }
  });

  test("C12 (required): an ExternalName Service is not valid for export, and no cluster imports it", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("cluster-1", { type: "ExternalName", externalName: "example.com" });
    await story.export("cluster-1");
    await story.untilCondition("cluster-1", "Valid", "False InvalidServiceType");
    await story.settle("cluster-1");
    for (const id of story.clusters) assert.equal(await story.imported(id), undefined);
  });

  test("C14 (required): no cluster imports a Service without an export", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of story.clusters) await hello(story, id);
    for (const id of story.clusters) await story.settle(id);
    for (const id of story.clusters) {
      assert.equal(await story.imported(id), undefined);
      assert.deepEqual(await story.allSlices(id), []);
    }
  });
}
