import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { describe, it } from "node:test";
import { importText, ManifestsStage, unprivileged } from "../../../test/stages/manifests-stage.ts";
import { UNREAD_MS } from "./manifests-source.ts";

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
});
