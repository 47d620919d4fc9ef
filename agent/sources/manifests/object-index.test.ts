import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { mutated } from "../../../test/generators/mutations.ts";
import { importObject, sliceObject } from "../../../test/generators/objects.ts";
import { factTables } from "../fact-tables.ts";
import { type ManifestObject, manifestObjects } from "./manifest-object.ts";
import { type FileObjects, ObjectIndex } from "./object-index.ts";

/** The objects of a file, each written as `name=vip`; `name=` has a VIP that is none. */
function objects(file: string, ...texts: readonly string[]): readonly ManifestObject[] {
  const documents = texts.map((text) => {
    const [name = "", vip = ""] = text.split("=");
    return importObject(`demo/${name}`, [vip], [{ port: 80 }]);
  });
  return manifestObjects(file, documents);
}

/** Files by name: their objects, or undefined for a deleted file. */
type Files = Readonly<Record<string, readonly string[] | undefined>>;

/** An index, and a recorder of what its updates report. */
class Stage {
  readonly recorder = new SourceRecorder();
  readonly #tables = factTables(this.recorder);
  readonly #index = new ObjectIndex();

  /** `+a=241.0.0.1` for a change, `-a` for a removal, `!a duplicate-object,…` for problems; in this order. */
  update(files: Files, leaving = false): string[] {
    const changes = Object.entries(files).map(
      ([file, texts]): [string, FileObjects | undefined] => [
        file,
        texts && { objects: objects(file, ...texts), leaving },
      ],
    );
    return this.updateObjects(new Map(changes));
  }

  updateObjects(changes: ReadonlyMap<string, FileObjects | undefined>): string[] {
    this.#index.update(changes, this.#tables, 0);
    return this.recorder.news().map((word) => this.#short(word));
  }

  #short(word: string): string {
    const name = word.slice(word.indexOf("/") + 1);
    if (word.startsWith("no import")) return `-${name}`;
    if (word.startsWith("import")) {
      const vip = this.recorder.imports.get(`demo/${name}`)?.vips[0]?.text ?? "";
      return `+${name}=${vip}`;
    }
    const [, object = ""] = /^problems (.*): \d+$/.exec(word) ?? [];
    const reasons = this.recorder.wrong.get(object)?.map(({ reason }) => reason) ?? [];
    return `!${object.slice(object.indexOf("/") + 1)} ${reasons.join()}`;
  }
}

describe("ObjectIndex", () => {
  it("reports exactly the added, changed and removed objects", () => {
    const stage = new Stage();
    assert.deepEqual(stage.update({ f: ["a=1.0.0.1", "b=1.0.0.2", "c=1.0.0.3"] }), [
      "+a=1.0.0.1",
      "+b=1.0.0.2",
      "+c=1.0.0.3",
    ]);
    assert.deepEqual(stage.update({ f: ["c=1.0.0.3", "b=1.0.0.9"] }), ["-a", "+b=1.0.0.9"]);
    assert.deepEqual(stage.update({ f: undefined }), ["-c", "-b"]);
  });

  it("reports problems when they appear, change and disappear", () => {
    const stage = new Stage();
    assert.deepEqual(stage.update({ f: ["a="] }), ["!a invalid-address", "+a="]);
    assert.deepEqual(stage.update({ f: ["a="] }), []);
    assert.deepEqual(stage.update({ f: ["a=1.0.0.1"] }), ["!a ", "+a=1.0.0.1"]);
    stage.update({ f: ["a="] });
    assert.deepEqual(stage.update({ f: undefined }), ["!a ", "-a"]);
  });

  it("uses the first definition by file name, then by position, in any order of arrival", () => {
    const stage = new Stage();
    stage.update({ g: ["a=1.0.0.2"] });
    assert.deepEqual(stage.update({ f: ["a=1.0.0.1", "a=1.0.0.3"] }), [
      "!a duplicate-object,duplicate-object",
      "+a=1.0.0.1",
    ]);
    assert.deepEqual(stage.update({ f: ["a=1.0.0.3"] }), ["!a duplicate-object", "+a=1.0.0.3"]);
    assert.deepEqual(stage.update({ f: undefined }), ["!a ", "+a=1.0.0.2"]);
    assert.deepEqual(stage.update({ g: undefined }), ["-a"]);
  });

  it("does not report an object as removed that moved to another file", () => {
    const stage = new Stage();
    stage.update({ f: ["a=1.0.0.1", "b=1.0.0.2"], g: [] });
    assert.deepEqual(stage.update({ f: ["b=1.0.0.2"], g: ["a=1.0.0.1"] }), []);
    assert.deepEqual(stage.update({ g: undefined, e: ["a=1.0.0.9"] }), ["+a=1.0.0.9"]);
  });

  it("uses another definition in place of one in a file that is being deleted, without a duplicate", () => {
    const stage = new Stage();
    stage.update({ f: ["a=1.0.0.1"] });
    assert.deepEqual(stage.update({ f: ["a=1.0.0.1"] }, true), []);
    assert.deepEqual(stage.update({ g: ["a=1.0.0.2"] }), ["+a=1.0.0.2"]);
    assert.deepEqual(stage.update({ f: ["a=1.0.0.1"] }), ["!a duplicate-object", "+a=1.0.0.1"]);
  });

  it("joins the problems of objects without a valid name", () => {
    const stage = new Stage();
    const nameless = manifestObjects("f", [
      { apiVersion: "discovery.k8s.io/v1beta1", kind: "EndpointSlice" },
    ]);
    const twice = { objects: [...nameless, ...nameless], leaving: false };
    assert.deepEqual(stage.updateObjects(new Map([["f", twice]])), [
      "!manifest f document 1 invalid-object,invalid-object",
    ]);
  });

  it("keeps at most as many problems of an object as a parser", () => {
    const stage = new Stage();
    const many = Array.from({ length: 500 }, () => "a=1.0.0.1");
    stage.update({ f: many });
    assert.equal(stage.recorder.wrong.get("ServiceImport demo/a")?.length, 100);
  });

  it("ends in the same state after any history", async () => {
    const text = fc
      .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("1.0.0.1", "1.0.0.2", ""))
      .map(([name, vip]) => `${name}=${vip}`);
    const change = fc.record({
      file: fc.constantFrom("f", "g", "h"),
      texts: fc.option(fc.array(text, { maxLength: 4 }), { nil: undefined }),
    });
    await forAll([fc.array(fc.array(change, { minLength: 1, maxLength: 3 }))], (updates) => {
      const stage = new Stage();
      const files: Record<string, string[] | undefined> = {};
      for (const changes of updates) {
        const next = Object.fromEntries(changes.map(({ file, texts }) => [file, texts]));
        Object.assign(files, next);
        stage.update(next);
      }
      const fresh = new Stage();
      fresh.update(files);
      assert.deepEqual(stage.recorder.world(), fresh.recorder.world());
    });
  });
});

const IMPORT = importObject("demo/serve", ["241.0.0.1"], [{ port: 80 }]);
const CONTINENT = {
  apiVersion: "about.k8s.io/v1beta1",
  kind: "ClusterProperty",
  metadata: { name: "continent.example.com" },
};
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
      ...CONTINENT,
      apiVersion: `about.k8s.io/${version}`,
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
    const lists = {
      ...{ apiVersion: "v1", kind: "List" },
      items: [
        IMPORT,
        { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSliceList", items: [SLICE] },
        { ...CONTINENT, spec: { value: "europe" } },
      ],
    };
    const value = fc.oneof(mutated(lists), fc.jsonValue({ stringUnit: "binary" }));
    await forAll([fc.string({ unit: "binary" }), fc.array(value)], (file, documents) => {
      for (const { object, place } of manifestObjects(file, documents)) {
        assert.match(object, /^[\x20-\x7e]+$/);
        assert.match(place, /^[\x20-\x7e]+$/);
      }
    });
  });
});
