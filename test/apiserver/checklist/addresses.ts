import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerStage } from "../controller-stage.ts";
import { ServiceCase } from "../service-case.ts";

const DUAL = { ipFamilyPolicy: "RequireDualStack" };

/** ClusterSetIPs: how many, of which families, and for how long. */
export function addressItems(stage: () => ControllerStage): void {
  test("items 29 to 31: an import has a VIP of the range, which stays when its oldest export is deleted", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.export(id);
      await story.grow();
    }
    const before = await story.untilImported("c3", ({ spec, status }) => {
      assert.match(spec.ips?.join() ?? "", /^241\.\d+\.\d+\.\d+$/);
      assert.equal(status?.clusters?.length, 2);
    });
    await story.unexport("c1");
    const after = await story.untilImported("c3", ({ status }) => {
      assert.deepEqual(status?.clusters, [{ cluster: "c2" }]);
    });
    assert.equal(after.metadata.uid, before.metadata.uid);
    const changes = await story.changesSince("c3", before);
    assert.ok(changes.length > 0);
    for (const { type, to } of changes) {
      assert.equal(type, "MODIFIED");
      assert.deepEqual(to.spec.ips, before.spec.ips);
    }
  });

  test("items 18, 21 and 31: an import becomes headless when its last Service does, without a VIP, and later gets the same VIP", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1");
    const before = await story.untilImported("c2", ({ spec }) => assert.equal(spec.ips?.length, 1));
    for (const [type, ips, more] of [
      ["Headless", [], { clusterIP: "None" }],
      ["ClusterSetIP", before.spec.ips, {}],
    ] as const) {
      // A Service's type cannot be changed in this way: it is made anew, and the export stays.
      await story.unserve("c1");
      await story.serve("c1", more);
      await story.untilImported("c2", ({ spec }) => {
        assert.equal(spec.type, type);
        assert.deepEqual(spec.ips ?? [], ips);
      });
    }
  });

  for (const families of [
    ["IPv4", "IPv6"],
    ["IPv6", "IPv4"],
  ]) {
    test(`items 12 and 33: a Service of ${families.join(" and ")} has a VIP of each, in this order`, async () => {
      const story = await ServiceCase.open(stage());
      await story.serve("c1", { ...DUAL, ipFamilies: families });
      await story.export("c1");
      for (const id of story.clusters) {
        await story.untilImported(id, ({ spec }) => {
          assert.deepEqual(spec.ipFamilies, families);
          const found = spec.ips?.map((ip) => (ip.startsWith("fdc5:") ? "IPv6" : "IPv4"));
          assert.deepEqual(found, families);
        });
      }
    });
  }

  test("items 12 and 31: a Service that becomes dual-stack gets a VIP of the new family, and keeps the other", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1");
    const { spec } = await story.untilImported("c2", ({ spec }) =>
      assert.equal(spec.ips?.length, 1),
    );
    await story.serve("c1", DUAL);
    await story.untilImported("c2", ({ spec: { ips, ipFamilies } }) => {
      assert.deepEqual(ipFamilies, ["IPv4", "IPv6"]);
      assert.equal(ips?.length, 2);
      assert.equal(ips[0], spec.ips?.[0]);
    });
  });

  test("item 29: no two imports of a cluster have one VIP", async () => {
    const story = await ServiceCase.open(stage());
    const names = await Promise.all(Array.from({ length: 5 }, () => story.settle("c1")));
    const found = await story
      .in("c1")
      .list(
        { apiVersion: story.importReference.apiVersion, kind: "ServiceImport" },
        story.namespace,
      );
    const ips = found.flatMap(({ spec }) => (spec as { ips?: string[] }).ips ?? []);
    assert.equal(ips.length, names.length);
    assert.equal(new Set(ips).size, names.length);
  });
}
