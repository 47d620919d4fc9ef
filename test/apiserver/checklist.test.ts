import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { manifest } from "../generators/objects.ts";
import { byHandCases } from "./by-hand.ts";
import { ControllerStage, IMPORT, SLICE } from "./controller-stage.ts";
import { clusterProperty } from "./crds.ts";
import { olderCases } from "./older-crds.ts";
import { ServiceCase } from "./service-case.ts";

// What KEP-1645 asks for, item by item of docs/MCS-API.md, as far as a real API server could differ from the one in memory
// (controller/**/*.test.ts), and no case of the conformance suite shows it. Three clusters that read each other.

const DUAL = { ipFamilyPolicy: "RequireDualStack" };
/** Endpoints in all conditions that a controller manager writes, and without any. */
const ENDPOINTS = [
  { ready: true, serving: true, terminating: false },
  { ready: false, serving: false, terminating: false },
  { ready: false, serving: true, terminating: true },
  { ready: false, serving: false, terminating: true },
  undefined,
].map((conditions, i) => ({
  ...{ addresses: [`10.1.0.${i + 1}`], hostname: `h${i}`, nodeName: "n1", zone: "z1" },
  ...(conditions !== undefined && { conditions }),
}));

let stage: ControllerStage;
before(async () => {
  // What deletes a namespace with all that is in it; a controller manager is ready once there is a service account.
  const controllers = "namespace-controller,serviceaccount-controller";
  stage = await ControllerStage.open({
    clusters: ["c1", "c2", "c3"],
    controllerManagers: { c1: { controllers }, c2: { controllers } },
    flags: ["--clusterset-cidr", "241.0.0.0/8,fdc5::/64", "--explicit-vip-cidrs", "1.2.3.0/24"],
  });
  for (const { id, plane } of stage.clusters)
    await plane.admin.apply(clusterProperty("region.topology.k8s.io", `region-${id}`));
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

describe("three clusters that read each other", { concurrency: 6 }, () => {
  test("item 9: a change of the Service changes the import, and the VIP stays", async () => {
    const story = await ServiceCase.open(stage);
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

  test("items 12, 18, 21 and 31: an import gets a VIP of a new family, none while its Service is headless, and then the same VIP", async () => {
    const story = await ServiceCase.open(stage);
    await story.serve("c1");
    await story.export("c1");
    const { spec } = await story.untilImported("c2", ({ spec }) =>
      assert.equal(spec.ips?.length, 1),
    );
    await story.serve("c1", DUAL);
    await story.untilImported("c2", ({ spec: { ips, ipFamilies } }) => {
      assert.deepEqual(ipFamilies, ["IPv4", "IPv6"]);
      assert.deepEqual([ips?.length, ips?.[0]], [2, spec.ips?.[0]]);
    });
    for (const [type, ips, more] of [
      ["Headless", [], { clusterIP: "None" }],
      ["ClusterSetIP", spec.ips, {}],
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

  test("conditions: an export can be created before its Service and outlive it; they have its generation, and the time of their last transition", async () => {
    const story = await ServiceCase.open(stage);
    await story.export("c1");
    await story.untilCondition("c1", "Valid", "False NoService");
    await story.untilCondition("c1", "Ready", "False Pending");
    await story.untilCondition("c1", "Conflict", "False NoConflicts");
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    const first = [
      await story.untilCondition("c1", "Valid", "True Valid"),
      await story.untilCondition("c1", "Ready", "True Ready"),
      await story.untilCondition("c1", "Conflict", "False NoConflicts"),
    ];
    for (const { observedGeneration } of first) assert.equal(observedGeneration, 1);
    await story.everywhere(({ spec }) => assert.equal(spec.ips?.length, 1));
    await story.grow();
    await story.export("c1", { exportedLabels: { team: "shop" } });
    await story.until("c1", async () => {
      const { status } = await story.exported("c1");
      assert.equal(status?.conditions?.length, first.length);
      for (const { type, observedGeneration, lastTransitionTime } of status?.conditions ?? []) {
        assert.equal(observedGeneration, 2);
        const before = first.find((one) => one.type === type);
        assert.equal(lastTransitionTime, before?.lastTransitionTime, "nothing flipped");
      }
    });
    await story.unserve("c1");
    await story.untilCondition("c1", "Valid", "False NoService");
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("items 22 and 23: every cluster has one import while it has the namespace, also the exporter, with whose namespace the export is withdrawn", async () => {
    const story = await ServiceCase.open(stage, { without: ["c3"] });
    const namespace = manifest("Namespace", story.namespace);
    const untilThere = async (id: string) => {
      const found = await story.untilImported(id, ({ spec }) => assert.equal(spec.ips?.length, 1));
      await story.untilSlices(id, ([slice]) => assert.equal(slice?.endpoints.length, 1));
      const all = await story.in(id).list(IMPORT, story.namespace);
      assert.equal(all.map(({ metadata }) => metadata.name).join(), "hello");
      return found.spec.ips;
    };
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    await untilThere("c1");
    const vips = await untilThere("c2");
    const unmade = await story.in("c3").plane.admin.find(namespace);
    assert.equal(unmade, undefined, "the namespace is not made for it");
    await story.appear("c3");
    await untilThere("c3");
    const elsewhere = await story.untilImported("c3", ({ status }) =>
      assert.equal(status?.clusters?.length, 1),
    );
    const { admin } = story.in("c2").plane;
    await admin.delete(namespace);
    await story.untilGone("c2");
    await story.until("c2", async () => assert.equal(await admin.find(namespace), undefined));
    await story.appear("c2");
    assert.deepEqual(await untilThere("c2"), vips);
    assert.deepEqual(await story.changesSince("c3", elsewhere), [], "nothing happened there");
    await story.in("c1").plane.admin.delete(namespace);
    for (const id of story.clusters) await story.untilGone(id);
  });

  test("items 26, 27 and 28: an import's status has its readiness, generation, slices and exporters, oldest first", async () => {
    const story = await ServiceCase.open(stage);
    for (const id of ["c2", "c1"]) {
      await story.serve(id);
      await story.slice(id, [{ addresses: [`10.${id.slice(1)}.0.7`] }]);
      await story.export(id);
      await story.grow();
    }
    await story.everywhere(({ metadata, status }) => {
      assert.deepEqual(status?.clusters, [{ cluster: "c2" }, { cluster: "c1" }]);
      assert.equal(status?.endpointSliceObjects, "Present");
      const [ready, ...others] = status?.conditions ?? [];
      assert.deepEqual(others, []);
      assert.deepEqual([ready?.type, ready?.status, ready?.reason], ["Ready", "True", "Ready"]);
      assert.equal(ready?.observedGeneration, metadata.generation);
    });
  });

  test("items 25 and 52: other clients' changes of an import or slice are reverted, and both are made again when they are deleted", async () => {
    const story = await ServiceCase.open(stage);
    await story.serve("c1");
    await story.slice("c1", [{ addresses: ["10.1.0.7"] }]);
    await story.export("c1");
    const { metadata, spec } = await story.untilImported("c2", ({ spec }) =>
      assert.equal(spec.ips?.length, 1),
    );
    const [slice] = await story.untilSlices("c2", (found) => assert.equal(found.length, 1));
    const { admin } = story.in("c2").plane;
    const edits = [{ type: "Headless" }, { ips: [] }, { ports: [] }, { ipFamilies: ["IPv6"] }];
    for (const edit of edits) {
      await admin.patch(story.importReference, { spec: edit });
      await story.untilImported("c2", (found) => assert.deepEqual(found.spec, spec));
    }
    await admin.delete(story.importReference);
    await story.untilImported("c2", (found) => {
      assert.notEqual(found.metadata.uid, metadata.uid);
      assert.deepEqual(found.spec, spec);
      assert.deepEqual(found.status?.clusters, [{ cluster: "c1" }]);
    });
    const reference = story.reference(SLICE.apiVersion, SLICE.kind, slice?.metadata.name);
    await admin.delete(reference);
    await story.untilSlices("c2", ([again]) => {
      assert.equal(again?.metadata.name, slice?.metadata.name);
      assert.notEqual(again?.metadata.uid, slice?.metadata.uid);
    });
    for (const edit of [
      { endpoints: [{ addresses: ["6.6.6.6"] }] },
      { metadata: { labels: { "multicluster.kubernetes.io/source-cluster": "c2" } } },
    ]) {
      await admin.patch(reference, edit);
      await story.untilSlices("c2", ([again]) => {
        assert.deepEqual(again?.endpoints, slice?.endpoints);
        assert.deepEqual(again?.metadata.labels, slice?.metadata.labels);
      });
    }
  });

  test("item 10 and trap 15: labels and annotations are the export's until it lacks them; those and conditions of other managers stay, on imports and exports", async () => {
    const story = await ServiceCase.open(stage);
    await story.serve("c1");
    await story.export("c1", {
      exportedLabels: { team: "shop", tier: "front" },
      exportedAnnotations: { note: "1" },
    });
    await story.untilImported("c1", ({ metadata }) => {
      assert.deepEqual(metadata.labels, { team: "shop", tier: "front" });
      assert.partialDeepStrictEqual(metadata.annotations, { note: "1" });
    });
    const { admin } = story.in("c1").plane;
    const theirs = {
      type: "example.com/Audited",
      status: "True",
      reason: "Audited",
      message: "by somebody else",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    for (const reference of [story.importReference, story.exportReference]) {
      await admin.apply({ ...reference, status: { conditions: [theirs] } }, "auditor", "status");
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
      const annotations = metadata.annotations as Record<string, string>;
      assert.deepEqual([annotations["example.com/audited"], annotations.note], ["yes", undefined]);
      assert.ok(status?.conditions?.some(({ type }) => type === theirs.type));
      assert.ok(status?.conditions?.some(({ type }) => type === "Ready"));
    });
    await story.untilCondition("c1", "Conflict", "True PortConflict");
    const { metadata } = await story.exported("c1");
    assert.deepEqual(metadata.labels, { audited: "yes" });
    assert.equal((await story.condition("c1", theirs.type))?.message, theirs.message);
  });

  test("items 47 to 50 and 53, traps 6 and 11: a slice has the endpoints of one cluster, with all that it says of them but hints, and labels that no other program acts on", async () => {
    const story = await ServiceCase.open(stage);
    const hints = { forZones: [{ name: "z1" }] };
    const there = [{ addresses: ["10.2.0.7"], conditions: { ready: true } }];
    await story.slice(
      "c1",
      ENDPOINTS.map((one) => ({ ...one, hints })),
    );
    await story.slice("c2", there);
    for (const id of ["c1", "c2"]) {
      await story.serve(id);
      await story.export(id);
    }
    // Without conditions, an endpoint is ready.
    const conditions = { ready: true, serving: true, terminating: false };
    const expected = ENDPOINTS.map((one) => ({ conditions, ...one }));
    for (const id of story.clusters) {
      const slices = await story.untilSlices(id, (found) => assert.equal(found.length, 2));
      assert.deepEqual(slices[0]?.endpoints, expected);
      assert.deepEqual(slices[1]?.endpoints, [{ ...there[0], conditions }]);
      for (const [i, { metadata }] of slices.entries()) {
        assert.deepEqual(metadata.labels, {
          "multicluster.kubernetes.io/service-name": "hello",
          "multicluster.kubernetes.io/source-cluster": `c${i + 1}`,
          "topology.kubernetes.io/region": `region-c${i + 1}`,
          "endpointslice.kubernetes.io/managed-by": "clusterset-controller",
          "service.kubernetes.io/service-proxy-name": "clusterset-proxy",
        });
      }
      const labelSelector = "kubernetes.io/service-name";
      const all = await story.in(id).plane.admin.list(SLICE, { labelSelector });
      assert.ok(all.every(({ metadata }) => !metadata.namespace?.includes("registry")));
      const own = all.filter(({ metadata }) => metadata.namespace === story.namespace);
      assert.equal(own.length, id === "c3" ? 0 : 1, "the Service's own");
    }
  });

  test("items 18, 40 and 46: a headless Service without ports is imported with its addresses and hostnames", async () => {
    const story = await ServiceCase.open(stage);
    await story.serve("c1", { clusterIP: "None", ports: [] });
    await story.slice("c1", [{ addresses: ["10.1.0.1"], hostname: "hello-0" }], []);
    await story.export("c1");
    await story.everywhere(({ spec }) => assert.deepEqual(spec.ports, []));
    for (const id of story.clusters) {
      await story.untilSlices(id, (slices) => {
        const found = slices.flatMap(({ endpoints }) => endpoints);
        const texts = found.map(({ addresses, hostname }) => `${addresses.join()} ${hostname}`);
        assert.deepEqual(texts, ["10.1.0.1 hello-0"]);
      });
    }
  });
});

describe("imports that a person wrote", () => byHandCases(() => stage));

describe("a cluster that serves v1alpha1 only, and one with an older CRD", { concurrency: 3 }, () =>
  olderCases(() => stage),
);
