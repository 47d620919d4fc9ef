import assert from "node:assert/strict";
import { test } from "node:test";
import type { ControllerStage } from "../controller-stage.ts";
import { type Endpoint, ServiceCase } from "../service-case.ts";

/** Endpoints in all conditions that a controller manager writes. */
const ENDPOINTS: readonly Endpoint[] = [
  { addresses: ["10.1.0.1"], conditions: { ready: true, serving: true, terminating: false } },
  { addresses: ["10.1.0.2"], conditions: { ready: false, serving: false, terminating: false } },
  { addresses: ["10.1.0.3"], conditions: { ready: false, serving: true, terminating: true } },
  { addresses: ["10.1.0.4"], conditions: { ready: false, serving: false, terminating: true } },
];

/** Imported slices: whose they are, and what they say of endpoints. */
export function endpointItems(stage: () => ControllerStage): void {
  test("items 47 to 50: a slice has the endpoints of one cluster, and labels for cluster, region, import and manager", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
    }
    for (const id of story.clusters) {
      const slices = await story.untilSlices(id, (found) => assert.equal(found.length, 2));
      for (const [i, { endpoints, metadata }] of slices.entries()) {
        const source = `c${i + 1}`;
        assert.deepEqual(
          endpoints.map(({ addresses }) => addresses),
          [[`10.${i + 1}.0.7`]],
        );
        assert.deepEqual(metadata.labels, {
          "multicluster.kubernetes.io/service-name": "hello",
          "multicluster.kubernetes.io/source-cluster": source,
          "topology.kubernetes.io/region": `region-${source}`,
          "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
          "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
        });
      }
    }
  });

  test("trap 6: only the Service's own slices have kubernetes.io/service-name, also in a registry", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    for (const id of story.clusters) {
      await story.untilSlices(id, (found) => assert.equal(found.length, 1));
      const all = await story
        .in(id)
        .plane.admin.list(
          { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
          { labelSelector: "kubernetes.io/service-name" },
        );
      const own = all.filter(({ metadata }) => metadata.namespace === story.namespace);
      assert.deepEqual(
        own.map(({ metadata }) => metadata.name),
        id === "c1" ? ["hello-ipv4"] : [],
      );
      assert.ok(all.every(({ metadata }) => !metadata.namespace?.includes("registry")));
    }
  });

  test("item 53 and trap 11: endpoints are copied with all conditions, zone, node and hostname, also unready ones; hints are not", async () => {
    const story = await ServiceCase.open(stage());
    const where = { nodeName: "n1", zone: "z1" };
    const expected = ENDPOINTS.map((one, i) => ({ ...one, ...where, hostname: `h${i}` }));
    const hints = { forZones: [{ name: "z1" }] };
    const named = expected.map((one) => ({ ...one, hints }));
    await story.serve("c1");
    await story.slice("c1", named);
    await story.export("c1");
    for (const id of story.clusters) {
      await story.untilSlices(id, ([slice]) => assert.deepEqual(slice?.endpoints, expected));
    }
  });

  test("trap 11: an endpoint without a ready condition is ready", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.1"] }]);
    await story.export("c1");
    await story.untilSlices("c2", ([slice]) => {
      assert.deepEqual(slice?.endpoints[0]?.conditions, {
        ready: true,
        serving: true,
        terminating: false,
      });
    });
  });

  test("items 18 and 40: a headless Service's endpoints are copied with their hostnames to every cluster (C26)", async () => {
    const story = await ServiceCase.open(stage());
    const pods = ["hello-0", "hello-1"].map((hostname, i) => {
      return { addresses: [`10.1.0.${i}`], conditions: { ready: true }, hostname };
    });
    await story.serve("c1", { clusterIP: "None" });
    await story.slice("c1", pods);
    await story.export("c1");
    for (const id of story.clusters) {
      await story.untilSlices(id, (slices) => {
        const found = slices.flatMap(({ endpoints }) => endpoints);
        assert.deepEqual(
          found.map(({ hostname }) => hostname),
          ["hello-0", "hello-1"],
        );
      });
    }
  });

  test("items 18 and 46: a headless Service without ports is imported with its addresses", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1", { clusterIP: "None", ports: [] });
    await story.slice("c1", [{ addresses: ["10.1.0.1"] }], []);
    await story.export("c1");
    await story.untilImported("c2", ({ spec }) => assert.deepEqual(spec.ports, []));
    await story.untilSlices("c2", ([slice]) => assert.equal(slice?.endpoints.length, 1));
  });

  test("item 47: readiness is copied; without endpoints the slice is empty, and the import stays", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    const endpoint = (ready: boolean) => [{ addresses: ["10.1.0.1"], conditions: { ready } }];
    await story.slice("c1", endpoint(true));
    await story.export("c1");
    const ready = (expected: boolean) =>
      story.untilSlices("c2", ([slice]) => {
        assert.partialDeepStrictEqual(slice?.endpoints[0]?.conditions ?? {}, { ready: expected });
      });
    await ready(true);
    await story.slice("c1", endpoint(false));
    await ready(false);
    await story.slice("c1", endpoint(true));
    await ready(true);
    const seen = await story.untilImported("c2", () => {});
    await story.slice("c1", []);
    await story.untilSlices("c2", (slices) => assert.deepEqual(slices, []));
    assert.deepEqual(
      (await story.allSlices("c2")).map(({ endpoints }) => endpoints),
      [[]],
    );
    await story.slice("c1", endpoint(true));
    await ready(true);
    assert.equal((await story.allSlices("c2")).length, 1);
    assert.deepEqual((await story.imported("c2"))?.spec, seen.spec);
  });

  test("item 47: a hundred endpoints are in one slice, and 101 in two", async () => {
    const story = await ServiceCase.open(stage());
    const pods = Array.from({ length: 101 }, (_, i) => ({ addresses: [`10.1.1.${i}`] }));
    await story.serve("c1");
    await story.slice("c1", pods.slice(0, 100));
    await story.export("c1");
    const sizes = (expected: readonly number[]) =>
      story.untilSlices("c2", (slices) => {
        const found = slices.map(({ endpoints }) => endpoints.length).sort((a, b) => b - a);
        assert.deepEqual(found, expected);
      });
    const [first] = await sizes([100]);
    await story.slice("c1", pods);
    const both = await sizes([100, 1]);
    const kept = both.find(({ metadata }) => metadata.name === first?.metadata.name);
    assert.equal(kept?.metadata.resourceVersion, first?.metadata.resourceVersion, "not written");
  });

  test("item 52: a slice that another client deletes or edits is restored", async () => {
    const story = await ServiceCase.open(stage());
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    const [slice] = await story.untilSlices("c2", (found) => assert.equal(found.length, 1));
    const { admin } = story.in("c2").plane;
    const reference = story.reference("discovery.k8s.io/v1", "EndpointSlice", slice?.metadata.name);
    await admin.delete(reference);
    await story.untilSlices("c2", ([again]) => {
      assert.equal(again?.metadata.name, slice?.metadata.name);
      assert.notEqual(again?.metadata.uid, slice?.metadata.uid);
    });
    await admin.patch(reference, { endpoints: [{ addresses: ["6.6.6.6"] }] });
    await story.untilSlices("c2", ([again]) => {
      assert.deepEqual(again?.endpoints, slice?.endpoints);
    });
    await admin.patch(reference, {
      metadata: { labels: { "multicluster.kubernetes.io/source-cluster": "c2" } },
    });
    await story.untilSlices("c2", ([again]) => {
      assert.deepEqual(again?.metadata.labels, slice?.metadata.labels);
    });
  });

  test("item 51: when an export is deleted, its cluster's slices are deleted everywhere, and no others", async () => {
    const story = await ServiceCase.open(stage());
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
    }
    const before = await story.untilSlices("c3", (found) => assert.equal(found.length, 2));
    await story.unexport("c1");
    for (const id of story.clusters) {
      const names = before.slice(1).map(({ metadata }) => metadata.name);
      await story.untilSlices(id, (found) =>
        assert.deepEqual(
          found.map(({ metadata }) => metadata.name),
          names,
        ),
      );
    }
  });
}
