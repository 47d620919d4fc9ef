import assert from "node:assert/strict";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { importText, ManifestsStage, unprivileged } from "../../../test/stages/manifests-stage.ts";
import { UNREAD_MS } from "./manifests-source.ts";
import { REST_MS } from "./settling.ts";

describe("a broken file", () => {
  it("keeps its last valid content, is logged once, and recovers", async () => {
    using stage = await ManifestsStage.of({ "a.yaml": importText("serve") });
    stage.place("a.yaml", `${importText("serve", "241.0.0.2")}  oops\n`);
    await stage.settle();
    assert.deepEqual(stage.told.news(), []);
    assert.deepEqual(stage.logged(), ["warn syntax-error a.yaml:5:1"]);
    assert.equal(stage.source.brokenFiles().length, 1);
    stage.place("a.yaml", "a: *b");
    await stage.settle();
    assert.deepEqual(stage.logged(), ["warn syntax-error a.yaml:1:4"]);
    stage.place("a.yaml", importText("serve", "241.0.0.2"));
    await stage.look();
    assert.deepEqual(stage.told.news(), ["import demo/serve"]);
    assert.deepEqual(stage.logged(), ["info syntax-error a.yaml"]);
    assert.deepEqual(stage.source.brokenFiles(), []);
  });

  it("may be deleted, with its objects", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", importText("serve"));
    await stage.start();
    stage.place("a.yaml", "a: [");
    await stage.look();
    stage.told.news();
    stage.remove("a.yaml");
    await stage.wait(REST_MS);
    assert.deepEqual(stage.told.news(), ["no import demo/serve"]);
    assert.deepEqual(stage.source.brokenFiles(), []);
  });

  const BROKEN: Record<string, (path: string) => void> = {
    "alias-bomb": (path) => writeFileSync(path, `a: &a 1\nb: [${"*a, ".repeat(10_000)}]`),
    empty: (path) => writeFileSync(path, ""),
    binary: (path) => writeFileSync(path, Buffer.from([0x61, 0xff])),
    "too-deep": (path) => writeFileSync(path, "[".repeat(200_000)),
    "too-large": (path) => writeFileSync(path, "#\n".repeat(2 ** 21 + 1)),
    "not-a-file": (path) => mkdirSync(path),
    unreadable: (path) => symlinkSync("nowhere", path),
  };
  for (const [fault, make] of Object.entries(BROKEN)) {
    it(`may have the fault ${fault}`, async () => {
      using stage = await ManifestsStage.of({
        "a.yaml": importText("serve"),
        "b.yaml": importText("other"),
      });
      rmSync(stage.path("a.yaml"));
      make(stage.path("a.yaml"));
      stage.raise("renamed", "a.yaml");
      stage.place("b.yaml", importText("other", "241.0.0.9"));
      await stage.settle();
      assert.deepEqual(stage.told.news(), ["import demo/other"]);
      assert.deepEqual(
        stage.source.brokenFiles().map((error) => [error.file, error.fault]),
        [["a.yaml", fault]],
      );
    });
  }

  it("is read again when it becomes readable, even without an event", async () => {
    using stage = new ManifestsStage();
    stage.place("a.yaml", importText("serve"));
    chmodSync(stage.root, 0o755);
    chmodSync(stage.directory, 0o755);
    chmodSync(stage.path("a.yaml"), 0);
    await unprivileged(() => stage.start());
    await unprivileged(() => stage.wait(UNREAD_MS));
    assert.deepEqual(stage.told.news(), ["listed"]);
    assert.deepEqual(stage.logged(), ["warn unreadable a.yaml", "warn unreadable a.yaml"]);
    await unprivileged(() => stage.settle());
    assert.deepEqual(stage.logged(), []);
    // As root, if it is root that runs the tests: nothing about the file itself has changed.
    if (process.geteuid?.() !== 0) chmodSync(stage.path("a.yaml"), 0o444);
    await stage.settle();
    assert.deepEqual(stage.told.news(), ["import demo/serve"]);
    assert.deepEqual(stage.logged(), ["info unreadable a.yaml"]);
  });

  it("does not pollute any prototype", async () => {
    using stage = new ManifestsStage();
    const polluted = '"__proto__": { "polluted": true }';
    stage.place(
      "a.json",
      `{ ${polluted}, "kind": "X", "apiVersion": "v1", "metadata": { ${polluted} } }`,
    );
    stage.place("b.yaml", `kind: List\napiVersion: v1\nitems: [{ ${polluted} }]\n${polluted}\n`);
    await stage.start();
    assert.equal(Reflect.get({}, "polluted"), undefined);
    assert.deepEqual(stage.source.brokenFiles().length, 0);
  });
});
