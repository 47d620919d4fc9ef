import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Problem } from "../../../api/problem.ts";
import { importObject } from "../../../test/support/objects.ts";
import { type ManifestObject, manifestObjects } from "./manifest-object.ts";
import { type Delta, type FileObjects, ObjectIndex } from "./object-index.ts";

/** The objects of a file, each written as `name=vip`; `name=` has a VIP that is none. */
function objects(file: string, ...texts: readonly string[]): readonly ManifestObject[] {
  const documents = texts.map((text) => {
    const [name = "", vip = ""] = text.split("=");
    return importObject(`demo/${name}`, [vip], [{ port: 80 }]);
  });
  return manifestObjects(file, documents);
}

/** An update of files by name: what they hold, or undefined if they are gone. */
function update(
  index: ObjectIndex,
  files: Readonly<Record<string, readonly string[] | undefined>>,
  leaving = false,
): Delta {
  const changes = Object.entries(files).map(([file, texts]): [string, FileObjects | undefined] => [
    file,
    texts && { objects: objects(file, ...texts), leaving },
  ]);
  return index.update(new Map(changes));
}

/** `+a=241.0.0.1` for a change, `-a` for a removal, `!a duplicate-object,…` for problems; in this order. */
function told({ problems, changed, removed }: Delta): string[] {
  return [
    ...problems.map((each) => `!${short(each.object)} ${reasons(each.problems)}`),
    ...changed.map((each) => `+${short(keyOf(each))}${vipOf(each)}`),
    ...removed.map((each) => `-${short(keyOf(each))}`),
  ];
}

const keyOf = ({ fact }: Delta["changed"][number]) => ("key" in fact ? fact.key : fact.name);
const short = (key: string) => key.slice(key.indexOf("/") + 1);
const reasons = (problems: readonly Problem[]) => problems.map(({ reason }) => reason).join();
const vipOf = (content: Delta["changed"][number]) =>
  content.kind === "ServiceImport" ? `=${content.fact.vips[0]?.text ?? ""}` : "";

describe("ObjectIndex", () => {
  it("tells what is new, what is different and what is gone, and nothing else", () => {
    const index = new ObjectIndex();
    assert.deepEqual(told(update(index, { f: ["a=1.0.0.1", "b=1.0.0.2", "c=1.0.0.3"] })), [
      "+a=1.0.0.1",
      "+b=1.0.0.2",
      "+c=1.0.0.3",
    ]);
    assert.deepEqual(told(update(index, { f: ["c=1.0.0.3", "b=1.0.0.9"] })), ["+b=1.0.0.9", "-a"]);
    assert.deepEqual(told(update(index, { f: undefined })), ["-c", "-b"]);
  });

  it("tells problems when they come, change and go", () => {
    const index = new ObjectIndex();
    assert.deepEqual(told(update(index, { f: ["a="] })), ["!a invalid-address", "+a="]);
    assert.deepEqual(told(update(index, { f: ["a="] })), []);
    assert.deepEqual(told(update(index, { f: ["a=1.0.0.1"] })), ["!a ", "+a=1.0.0.1"]);
    update(index, { f: ["a="] });
    assert.deepEqual(told(update(index, { f: undefined })), ["!a ", "-a"]);
  });

  it("lets the first file by name win, whichever came first, and the first within a file", () => {
    const index = new ObjectIndex();
    update(index, { g: ["a=1.0.0.2"] });
    assert.deepEqual(told(update(index, { f: ["a=1.0.0.1", "a=1.0.0.3"] })), [
      "!a duplicate-object,duplicate-object",
      "+a=1.0.0.1",
    ]);
    assert.deepEqual(told(update(index, { f: ["a=1.0.0.3"] })), [
      "!a duplicate-object",
      "+a=1.0.0.3",
    ]);
    assert.deepEqual(told(update(index, { f: undefined })), ["!a ", "+a=1.0.0.2"]);
    assert.deepEqual(told(update(index, { g: undefined })), ["-a"]);
  });

  it("does not tell an object as removed that moved to another file", () => {
    const index = new ObjectIndex();
    update(index, { f: ["a=1.0.0.1", "b=1.0.0.2"], g: [] });
    assert.deepEqual(told(update(index, { f: ["b=1.0.0.2"], g: ["a=1.0.0.1"] })), []);
    assert.deepEqual(told(update(index, { g: undefined, e: ["a=1.0.0.9"] })), ["+a=1.0.0.9"]);
  });

  it("lets a file that is leaving yield without a word about duplicates", () => {
    const index = new ObjectIndex();
    update(index, { f: ["a=1.0.0.1"] });
    assert.deepEqual(told(update(index, { f: ["a=1.0.0.1"] }, true)), []);
    assert.deepEqual(told(update(index, { g: ["a=1.0.0.2"] })), ["+a=1.0.0.2"]);
    assert.deepEqual(told(update(index, { f: ["a=1.0.0.1"] })), [
      "!a duplicate-object",
      "+a=1.0.0.1",
    ]);
  });

  it("joins what is wrong with objects that no one can tell apart", () => {
    const index = new ObjectIndex();
    const nameless = manifestObjects("f", [
      { apiVersion: "discovery.k8s.io/v1beta1", kind: "EndpointSlice" },
    ]);
    const twice = { objects: [...nameless, ...nameless], leaving: false };
    const delta = index.update(new Map([["f", twice]]));
    assert.deepEqual(told(delta), ["!manifest f document 1 invalid-object,invalid-object"]);
  });

  it("holds as many problems of one object as a parser would", () => {
    const index = new ObjectIndex();
    const many = Array.from({ length: 500 }, () => "a=1.0.0.1");
    assert.equal(update(index, { f: many }).problems[0]?.problems.length, 100);
  });

  it("comes to the same world by any way", () => {
    const text = fc
      .tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom("1.0.0.1", "1.0.0.2", ""))
      .map(([name, vip]) => `${name}=${vip}`);
    const change = fc.record({
      file: fc.constantFrom("f", "g", "h"),
      texts: fc.option(fc.array(text, { maxLength: 4 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(change, { minLength: 1, maxLength: 3 })), (updates) => {
        const index = new ObjectIndex();
        const world = new Map<string, unknown>();
        const files: Record<string, string[] | undefined> = {};
        for (const changes of updates) {
          const next = Object.fromEntries(changes.map(({ file, texts }) => [file, texts]));
          Object.assign(files, next);
          apply(world, update(index, next));
        }
        const fresh = new Map<string, unknown>();
        apply(fresh, update(new ObjectIndex(), files));
        assert.deepEqual(world, fresh);
      }),
    );
  });
});

function apply(world: Map<string, unknown>, { problems, changed, removed }: Delta): void {
  for (const each of problems) {
    if (each.problems.length === 0) world.delete(`! ${each.object}`);
    else world.set(`! ${each.object}`, each.problems);
  }
  for (const each of changed) world.set(keyOf(each), each.fact);
  for (const each of removed) assert.ok(world.delete(keyOf(each)));
}
