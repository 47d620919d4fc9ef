import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerStage } from "../controller-stage.ts";
import { ServiceCase } from "../service-case.ts";

/** What becomes of a ServiceExport, and of what it asks for. */
export function exportingItems(stage: () => ControllerStage): void {
  test("items 8 and 28: a Service that its own cluster does not export contributes nothing", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
    }
    await story.export("c1");
    for (const id of story.clusters) {
      await story.untilSlices(id, (slices) => assert.equal(slices.length, 1));
    }
    await story.settle("c2");
    for (const id of story.clusters) {
      assert.deepEqual((await story.imported(id))?.status?.clusters, [{ cluster: "c1" }]);
      const addresses = (await story.slices(id)).flatMap(({ endpoints }) => endpoints);
      assert.deepEqual(
        addresses.map(({ addresses: [address] }) => address),
        ["10.1.0.7"],
      );
    }
  });

  test("item 9: a change of the Service changes the import, and the VIP stays", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1");
    const before = await story.untilImported("c2", ({ spec }) => assert.equal(spec.ips?.length, 1));
    await story.serve("c1", {
      ports: [{ name: "https", port: 443, protocol: "TCP" }],
      sessionAffinity: "ClientIP",
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    });
    const after = await story.untilImported("c2", ({ spec }) => {
      assert.deepEqual(spec.ports, [{ name: "https", port: 443, protocol: "TCP" }]);
      assert.equal(spec.sessionAffinity, "ClientIP");
      assert.deepEqual(spec.sessionAffinityConfig, { clientIP: { timeoutSeconds: 10800 } });
      assert.equal(spec.internalTrafficPolicy, "Local");
      assert.equal(spec.trafficDistribution, "PreferClose");
    });
    assert.deepEqual(after.spec.ips, before.spec.ips);
    await story.serve("c1");
    await story.untilImported("c2", ({ spec }) => {
      assert.equal(spec.sessionAffinity, "None");
      assert.equal(spec.sessionAffinityConfig, undefined);
      assert.equal(spec.trafficDistribution, undefined);
    });
  });

  test("item 10: exported labels and annotations come only from the export's spec, are deleted with it, and are not mistaken for those of another exporter", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1", {}, { labels: { of: "service" }, annotations: { of: "service" } });
    await story.in("c1").plane.admin.apply({
      ...story.exportReference,
      metadata: {
        ...story.exportReference.metadata,
        labels: { of: "export" },
        annotations: { of: "export" },
      },
      spec: {
        exportedLabels: {
          team: "shop",
          tier: "front",
          "app.kubernetes.io/name": "hello",
          "kubernetes.io/service-name": "another",
          "multicluster.kubernetes.io/source-cluster": "another",
        },
        exportedAnnotations: {
          note: "1",
          "example.com/a": "1",
          "clusterset-proxy.io/import": "adopted",
        },
      },
    });
    for (const id of story.clusters) {
      await story.untilImported(id, ({ metadata }) => {
        assert.deepEqual(metadata.labels, {
          team: "shop",
          tier: "front",
          "app.kubernetes.io/name": "hello",
        });
        assert.deepEqual(foreignAnnotations(metadata.annotations), { note: "1" });
      });
    }
    await story.export("c1", { exportedLabels: { team: "shop" } });
    for (const id of story.clusters) {
      await story.untilImported(id, ({ metadata }) => {
        assert.deepEqual(metadata.labels, { team: "shop" });
        assert.deepEqual(foreignAnnotations(metadata.annotations), {});
      });
    }
  });

  for (const type of ["NodePort", "LoadBalancer"]) {
    test(`item 19: a ${type} Service is exported as ClusterSetIP, and is not changed`, async () => {
      const story = await ServiceCase.open(stage());
      await story.serve("c1", { type });
      await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
      const before = await story.in("c1").plane.admin.get(story.serviceReference);
      await story.export("c1");
      for (const id of story.clusters) {
        const { spec } = await story.untilImported(id, ({ spec }) =>
          assert.equal(spec.ips?.length, 1),
        );
        assert.equal(spec.type, "ClusterSetIP");
        assert.deepEqual(
          spec.ports,
          [{ name: "http", port: 80, protocol: "TCP" }],
          "no nodePort, no targetPort",
        );
        await story.untilSlices(id, ([slice]) => assert.equal(slice?.ports[0]?.port, 8080));
      }
      assert.deepEqual(await story.in("c1").plane.admin.get(story.serviceReference), before);
    });
  }

  test("item 20: an exported Service that becomes an ExternalName is withdrawn, and exported again after it changes back", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1");
    for (const id of story.clusters) await story.untilImported(id, () => {});
    const { admin } = story.in("c1").plane;
    const external = {
      type: "ExternalName",
      externalName: "example.com",
      clusterIP: null,
      clusterIPs: null,
    };
    await admin.patch(story.serviceReference, { spec: external });
    await story.untilCondition("c1", "Valid", "False InvalidServiceType");
    await story.untilCondition("c1", "Ready", "False Failed");
    for (const id of story.clusters) await story.untilGone(id);
    await admin.patch(story.serviceReference, { spec: { type: "ClusterIP", externalName: null } });
    await story.untilCondition("c1", "Valid", "True Valid");
    for (const id of story.clusters) await story.untilImported(id, () => {});
  });

  test("conditions: an export can be created before its Service and outlive it; the import follows the Service", async () => {
    const story = await ServiceCase.open(stage());
    await story.export("c1");
    await story.untilCondition("c1", "Valid", "False NoService");
    await story.untilCondition("c1", "Ready", "False Pending");
    await story.untilCondition("c1", "Conflict", "False NoConflicts");
    for (const round of ["first", "again"]) {
      await story.serve("c1");
      await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
      await story.untilCondition("c1", "Valid", "True Valid");
      await story.untilCondition("c1", "Ready", "True Ready");
      for (const id of story.clusters) {
        await story.untilSlices(id, (slices) => assert.equal(slices.length, 1, round));
      }
      await story.unserve("c1");
      await story.untilCondition("c1", "Valid", "False NoService");
      for (const id of story.clusters) await story.untilGone(id);
    }
  });

  test("trap 8: when one of two exporters deletes its Service, the import stays, with the other's endpoints", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
    }
    const before = await story.untilImported("c3", ({ status }) => {
      assert.equal(status?.clusters?.length, 2);
    });
    await story.unserve("c1");
    const after = await story.untilImported("c3", ({ status }) => {
      assert.deepEqual(status?.clusters, [{ cluster: "c2" }]);
    });
    assert.deepEqual(after.spec, before.spec);
    await story.untilSlices("c3", (slices) => {
      assert.deepEqual(
        slices.map(({ endpoints: [one] }) => one?.addresses[0]),
        ["10.2.0.7"],
      );
    });
    const changes = await story.changesSince("c3", before);
    assert.ok(
      changes.every(
        ({ type, to }) => type === "MODIFIED" && to.spec.ips?.join() === before.spec.ips?.join(),
      ),
    );
  });

  test("conditions: an export has all three conditions, with the generation that they describe and the time of the last transition", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.export("c1");
    const types = ["Conflict", "Ready", "Valid"];
    const first = await story.until("c1", async () => {
      const { metadata, status } = await story.exported("c1");
      const conditions = status?.conditions ?? [];
      assert.deepEqual(
        conditions.map(({ type }) => type).sort((a, b) => (a < b ? -1 : 1)),
        types,
      );
      for (const { observedGeneration } of conditions)
        assert.equal(observedGeneration, metadata.generation);
      assert.ok(
        conditions.every(({ type, status: found }) => (found === "True") === (type !== "Conflict")),
      );
      return conditions;
    });
    await story.grow();
    await story.export("c1", { exportedLabels: { team: "shop" } });
    await story.until("c1", async () => {
      const { metadata, status } = await story.exported("c1");
      assert.equal(metadata.generation, 2);
      for (const { type, observedGeneration, lastTransitionTime } of status?.conditions ?? []) {
        assert.equal(observedGeneration, 2);
        const before = first.find((one) => one.type === type);
        assert.equal(lastTransitionTime, before?.lastTransitionTime, "nothing flipped");
      }
    });
  });
}

/** Annotations but those that are ours. */
function foreignAnnotations(annotations: unknown): Record<string, string> {
  const entries = Object.entries((annotations ?? {}) as Record<string, string>);
  const own = ["clusterset-proxy.io/import", "clusterset-proxy.io/exports"];
  return Object.fromEntries(entries.filter(([key]) => !own.includes(key)));
}
