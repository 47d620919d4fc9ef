import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { importObject } from "../../../test/generators/objects.ts";
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
