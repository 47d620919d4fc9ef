import assert from "node:assert/strict";
import { test } from "node:test";
import { type ControllerStage, IMPORT } from "../controller-stage.ts";
import { ServiceCase } from "../service-case.ts";

/** Where imports are, what they say of themselves, and whose they are. */
export function importingItems(stage: () => ControllerStage): void {
  test("items 22 and 23: every cluster with the namespace has one import of the name, also the exporter; other clusters have none", async () => {
    const story = await ServiceCase.open(stage(), { without: ["c3"] });
    await story.serve("c1");
    await story.export("c1");
    for (const id of ["c1", "c2"]) {
      await story.untilImported(id, ({ spec }) => assert.equal(spec.ips?.length, 1));
      const all = await story.in(id).list(IMPORT, story.namespace);
      assert.deepEqual(
        all.map(({ metadata }) => metadata.name),
        ["hello"],
      );
    }
    assert.deepEqual(await story.in("c3").list(IMPORT, story.namespace), []);
    const { status } = await story
      .in("c3")
      .plane.admin.request("GET", `/api/v1/namespaces/${story.namespace}`);
    assert.equal(status, 404, "and the namespace is not made for it");
  });

  test("item 22: a namespace that is created later gets the import, with its slices", async () => {
    const story = await ServiceCase.open(stage(), { without: ["c2"] });
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    await story.untilImported("c1", () => {});
    await story.appear("c2");
    await story.untilImported("c2", ({ spec }) => assert.equal(spec.ips?.length, 1));
    await story.untilSlices("c2", ([slice]) => assert.equal(slice?.endpoints.length, 1));
  });

  test("item 22: when a namespace is deleted, its import is deleted, not recreated during the deletion, and recreated with the namespace", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    const elsewhere = await story.untilImported("c3", ({ spec, status }) => {
      assert.equal(spec.ips?.length, 1);
      assert.equal(status?.clusters?.length, 1);
    });
    await story.untilSlices("c2", (slices) => assert.equal(slices.length, 1));
    const { plane } = story.in("c2");
    await plane.deleteNamespace(story.namespace);
    await story.untilGone("c2");
    const { status } = await plane.admin.request("GET", `/api/v1/namespaces/${story.namespace}`);
    assert.equal(status, 404);
    await story.appear("c2");
    await story.untilImported("c2", ({ spec }) => assert.deepEqual(spec.ips, elsewhere.spec.ips));
    await story.untilSlices("c2", (slices) => assert.equal(slices.length, 1));
    assert.deepEqual(await story.changesSince("c3", elsewhere), [], "nothing happened there");
  });

  test("item 22: when an exporter's namespace is deleted, its export is withdrawn everywhere", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    await story.untilSlices("c2", (slices) => assert.equal(slices.length, 1));
    await story.in("c1").plane.deleteNamespace(story.namespace);
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("items 26, 27 and 28: an import's status has its readiness, generation, slices and exporters, oldest first", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c2", "c1"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
      await story.grow();
    }
    for (const id of story.clusters) {
      await story.untilImported(id, ({ metadata, status }) => {
        assert.deepEqual(status?.clusters, [{ cluster: "c2" }, { cluster: "c1" }]);
        assert.equal(status?.endpointSliceObjects, "Present");
        const [ready, ...others] = status?.conditions ?? [];
        assert.deepEqual(others, []);
        assert.deepEqual([ready?.type, ready?.status, ready?.reason], ["Ready", "True", "Ready"]);
        assert.equal(ready?.observedGeneration, metadata.generation);
      });
    }
  });

  test("item 25: other clients' changes of an import's spec are reverted, and a deleted import is recreated with the same VIP", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1");
    const { metadata, spec } = await story.untilImported("c2", ({ spec }) =>
      assert.equal(spec.ips?.length, 1),
    );
    const { admin } = story.in("c2").plane;
    for (const edit of [
      { type: "Headless" },
      { ips: [] },
      { ports: [] },
      { ipFamilies: ["IPv6"] },
    ]) {
      await admin.patch(story.importReference, { spec: edit });
      await story.untilImported("c2", (found) => assert.deepEqual(found.spec, spec));
    }
    await admin.delete(story.importReference);
    await story.untilImported("c2", (found) => {
      assert.notEqual(found.metadata.uid, metadata.uid);
      assert.deepEqual(found.spec, spec);
      assert.deepEqual(found.status?.clusters, [{ cluster: "c1" }]);
    });
  });

  test("trap 15: labels, annotations and conditions of other managers stay, on imports and exports", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1", { exportedLabels: { team: "shop" } });
    await story.untilImported("c1", ({ spec }) => assert.equal(spec.ips?.length, 1));
    const { admin } = story.in("c1").plane;
    const theirs = {
      type: "example.com/Audited",
      status: "True",
      reason: "Audited",
      message: "by somebody else",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    for (const reference of [story.importReference, story.exportReference]) {
      const query = { fieldManager: "auditor", force: "true" };
      const contentType = "application/apply-patch+yaml";
      const path = await admin.pathOf(reference);
      const status = { conditions: [theirs] };
      const body = { ...reference, status };
      const answer = await admin.request("PATCH", `${path}/status`, { query, contentType, body });
      assert.equal(answer.status, 200);
      await admin.patch(reference, {
        metadata: { labels: { audited: "yes" }, annotations: { "example.com/audited": "yes" } },
      });
    }
    // Now everything is written once more: another label, another port, another exporter that disagrees.
    await story.export("c1", { exportedLabels: { team: "store" } });
    await story.grow();
    await story.serve("c2", { ports: [{ name: "http", port: 81 }] });
    await story.export("c2");
    await story.untilImported("c1", ({ metadata, status }) => {
      assert.deepEqual(metadata.labels, { team: "store", audited: "yes" });
      assert.equal(status?.clusters?.length, 2);
      assert.equal((metadata.annotations as Record<string, string>)["example.com/audited"], "yes");
      assert.ok(status?.conditions?.some(({ type }) => type === theirs.type));
      assert.ok(status?.conditions?.some(({ type }) => type === "Ready"));
    });
    await story.untilCondition("c1", "Conflict", "True PortConflict");
    const { metadata } = await story.exported("c1");
    assert.deepEqual(metadata.labels, { audited: "yes" });
    assert.equal((await story.condition("c1", theirs.type))?.message, theirs.message);
  });
}
