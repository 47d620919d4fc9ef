import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { importObject, sliceObject } from "../../../test/generators/objects.ts";
import { manifestObjects } from "./manifest-object.ts";

const IMPORT = importObject("demo/serve", ["241.0.0.1"], [{ port: 80 }]);
const SLICE = sliceObject("serve-x", "demo/serve", {}, [{ port: 8080 }], ["10.0.0.1"]);

/** Each object with the table of its fact, or with what is wrong with it. */
function read(...documents: unknown[]): string[] {
  return manifestObjects("a.yaml", documents).map(({ object, fact, table, problems }) => {
    const wrong = problems.map(({ reason, field }) => `${reason} ${field}`);
    return [object, fact === undefined ? "-" : table, ...wrong].join(" | ");
  });
}

describe("manifestObjects", () => {
  it("reads imports of both versions, and slices", () => {
    const old = { ...IMPORT, apiVersion: "multicluster.x-k8s.io/v1alpha1" };
    assert.deepEqual(read(IMPORT, SLICE, old), [
      "ServiceImport demo/serve | serviceimports",
      "EndpointSlice demo/serve-x | endpointslices",
      "ServiceImport demo/serve | serviceimports",
    ]);
  });

  it("reads properties of this cluster, which are in no namespace", () => {
    const property = (value: unknown, version = "v1beta1") => ({
      apiVersion: `about.k8s.io/${version}`,
      kind: "ClusterProperty",
      metadata: { name: "continent.example.com" },
      spec: { value },
    });
    assert.deepEqual(read(property("europe"), property("europe", "v1alpha1"), property(5)), [
      "ClusterProperty continent.example.com | clusterproperties",
      "ClusterProperty continent.example.com | clusterproperties",
      "ClusterProperty continent.example.com | - | invalid-object spec.value",
    ]);
    assert.deepEqual(read(property("europe", "v1")), [
      "manifest a.yaml document 1 | - | invalid-object apiVersion",
    ]);
  });

  it("ignores objects that the agent does not use", () => {
    const others = [
      { apiVersion: "v1", kind: "Service", metadata: { name: "serve" } },
      { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport", metadata: {} },
      { apiVersion: "example.com/v1", kind: "ServiceImport", metadata: {} },
      { ...SLICE, metadata: { name: "own", namespace: "demo", labels: {} } },
    ];
    assert.deepEqual(read(...others), []);
  });

  it("reports what an invalid document lacks, and reads the others", () => {
    assert.deepEqual(read("text", [IMPORT], {}, { kind: "ServiceImport" }, IMPORT), [
      "manifest a.yaml document 1 | - | invalid-object document",
      "manifest a.yaml document 2 | - | invalid-object document",
      "manifest a.yaml document 3 | - | invalid-object kind",
      "manifest a.yaml document 4 | - | invalid-object apiVersion",
      "ServiceImport demo/serve | serviceimports",
    ]);
  });

  it("reports an unsupported version of a supported kind", () => {
    const objects = [
      { ...IMPORT, apiVersion: "multicluster.x-k8s.io/v1" },
      { ...SLICE, apiVersion: "discovery.k8s.io/v1beta1" },
    ];
    assert.deepEqual(read(...objects), [
      "manifest a.yaml document 1 | - | invalid-object apiVersion",
      "manifest a.yaml document 2 | - | invalid-object apiVersion",
    ]);
  });

  it("splits lists, including those whose items do not name their kind", () => {
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: [IMPORT, 7, { kind: "List", apiVersion: "v1", items: [SLICE] }],
    };
    const { apiVersion: _, kind: __, ...bare } = { apiVersion: "", kind: "", ...SLICE };
    const typed = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSliceList", items: [bare] };
    assert.deepEqual(read(list, typed, { apiVersion: "v1", kind: "List", items: 7 }), [
      "ServiceImport demo/serve | serviceimports",
      "manifest a.yaml document 1 items[1] | - | invalid-object document",
      "EndpointSlice demo/serve-x | endpointslices",
      "EndpointSlice demo/serve-x | endpointslices",
      "manifest a.yaml document 3 | - | invalid-object items",
    ]);
  });

  it("puts an object without a namespace into default", () => {
    for (const namespace of [undefined, null, ""]) {
      const object = { ...IMPORT, metadata: { name: "serve", namespace } };
      assert.deepEqual(read(object), ["ServiceImport default/serve | serviceimports"]);
    }
  });

  it("reports an object without a valid name", () => {
    const [line] = read({ ...IMPORT, metadata: 7 });
    assert.match(line ?? "", /^ServiceImport .* \| - \| invalid-name metadata.namespace/);
  });

  it("returns objects with printable names for any value, and never throws", async () => {
    const key = fc.constantFrom(
      "kind",
      "apiVersion",
      "metadata",
      "spec",
      "items",
      "labels",
      "name",
      "__proto__",
    );
    const word = fc.constantFrom(
      "List",
      "EndpointSliceList",
      "ServiceImport",
      "EndpointSlice",
      "multicluster.x-k8s.io/v1beta1",
      "discovery.k8s.io/v1",
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        word,
        fc.string({ unit: "binary" }),
        fc.constantFrom(null, 0, true),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.oneof(key, fc.string()), tie("value"), { maxKeys: 5 }),
      ),
    }));
    await forAll([fc.string({ unit: "binary" }), fc.array(value)], (file, documents) => {
      for (const { object, place } of manifestObjects(file, documents)) {
        assert.match(object, /^[\x20-\x7e]+$/);
        assert.match(place, /^[\x20-\x7e]+$/);
      }
    });
  });
});
