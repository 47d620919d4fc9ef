import assert from "node:assert/strict";
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../common/clock.ts";
import { SourceRecorder } from "../../../test/doubles/source-recorder.ts";
import { importText, ManifestsStage, unprivileged } from "../../../test/stages/manifests-stage.ts";
import type { OnEvent } from "./directory-watch.ts";
import { type ManifestsOptions, ManifestsSource, RESYNC_MS, RETRY_MS } from "./manifests-source.ts";
import { REST_MS } from "./settling.ts";

describe("the directory", () => {
  it("may be deleted: its objects are kept until it exists again", async () => {
    using stage = await ManifestsStage.of({ "a.yaml": importText("a"), "b.yaml": importText("b") });
    rmSync(stage.directory, { recursive: true });
    for (const name of ["a.yaml", "b.yaml", "manifests"]) stage.raise("renamed", name);
    for (let i = 0; i < 5; i++) await stage.wait(RETRY_MS);
    assert.deepEqual(stage.told.news(), []);
    assert.deepEqual(stage.logged(), ["warn unreadable /manifests"]);
    mkdirSync(stage.directory);
    stage.place("a.yaml", importText("a", "241.0.0.2"));
    await stage.wait(RETRY_MS + REST_MS);
    assert.deepEqual(stage.told.news(), ["import demo/a", "no import demo/b"]);
    assert.deepEqual(stage.logged(), ["info unreadable /manifests"]);
  });

  it("may be unreadable for a while: changes with events in the meantime are not lost", async () => {
    using stage = await ManifestsStage.of({ "z.yaml": "# none" });
    chmodSync(stage.root, 0o755);
    chmodSync(stage.directory, 0o311);
    stage.place("z.yaml", importText("a"));
    await unprivileged(async () => stage.clock.advance(RESYNC_MS));
    assert.deepEqual(stage.logged(), ["warn unreadable /manifests"]);
    chmodSync(stage.directory, 0o755);
    await stage.wait(RETRY_MS);
    assert.deepEqual(stage.told.news(), ["import demo/a"]);
    assert.deepEqual(stage.logged(), ["info unreadable /manifests"]);
  });

  it("may be a mounted ConfigMap, whose files all change when ..data is renamed", async () => {
    using stage = new ManifestsStage();
    const project = (version: string, files: Record<string, string>) => {
      mkdirSync(stage.path(version));
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(join(stage.path(version), name), text);
      }
      stage.link("..data", version);
    };
    project("..v1", { "a.yaml": importText("a"), "b.yaml": importText("b") });
    for (const name of ["a.yaml", "b.yaml"]) stage.link(name, `..data/${name}`);
    await stage.start();
    assert.deepEqual(stage.told.news(), ["import demo/a", "import demo/b", "listed"]);
    project("..v2", { "a.yaml": importText("a", "241.0.0.2") });
    stage.raise("renamed", "..data");
    await stage.look();
    assert.deepEqual(stage.told.news(), ["import demo/a"]);
    stage.remove("b.yaml");
    await stage.wait(REST_MS);
    assert.deepEqual(stage.told.news(), ["no import demo/b"]);
    assert.deepEqual(stage.logged(), []);
  });
});

/** A source that does not log. */
const silentSource = (options: Omit<ManifestsOptions, "log">) =>
  new ManifestsSource({ log: { info: () => {}, warn: () => {} }, ...options });

describe("inotify", () => {
  it("reports files that are created, changed and deleted, also after the directory was replaced", {
    timeout: 60_000,
  }, async () => {
    using stage = new ManifestsStage();
    const told = new SourceRecorder();
    const source = silentSource({ directory: stage.directory, clock: systemClock });
    const hears = async (word: string) => {
      while (!told.words.includes(word)) await sleep(1);
      told.news();
    };
    source.start(told);
    try {
      await hears("listed");
      stage.place("a.yaml", importText("a"));
      await hears("import demo/a");
      stage.place("a.yaml", importText("a", "241.0.0.2"));
      await hears("import demo/a");
      stage.rewrite("a.yaml", importText("a", "241.0.0.3"));
      await hears("import demo/a");
      stage.remove("a.yaml");
      await hears("no import demo/a");
      rmSync(stage.directory, { recursive: true });
      mkdirSync(stage.directory);
      stage.place("b.yaml", importText("b"));
      await hears("import demo/b");
      stage.place("b.yaml", importText("b", "241.0.0.2"));
      await hears("import demo/b");
    } finally {
      await source.stop();
    }
  });

  it("watches another directory at the path, after an event of the old one or without any, however the path is written", async () => {
    using stage = new ManifestsStage();
    const watches: OnEvent[] = [];
    const source = silentSource({
      ...{ directory: `${stage.directory}/../manifests/.`, clock: stage.clock },
      watch: (_path, onEvent) => {
        watches.push(onEvent);
        return () => {};
      },
    });
    source.start(new SourceRecorder());
    await stage.settle();
    assert.equal(watches.length, 1);
    renameSync(stage.directory, join(stage.root, "old"));
    mkdirSync(stage.directory);
    await stage.settle();
    assert.equal(watches.length, 2);
    // It may have the inode of the old one.
    watches.at(-1)?.("renamed", "manifests");
    await stage.look();
    await source.stop();
    assert.equal(watches.length, 3);
  });

  it("is reported as missing if the kernel allows no watch, at the start or later; changes are still found", async () => {
    using stage = new ManifestsStage();
    const logged: unknown[] = [];
    const told = new SourceRecorder();
    const noSpace = Object.assign(new Error("no space"), { code: "ENOSPC" });
    const fails: ((error: Error) => void)[] = [];
    const source = new ManifestsSource({
      ...{ directory: stage.directory, clock: stage.clock },
      log: {
        info: (_message, fields) => logged.push("again", fields?.reason),
        warn: (_message, fields) => logged.push(fields?.reason),
      },
      watch: (_path, _onEvent, onError) => {
        fails.push(onError);
        if (fails.length === 1) throw noSpace;
        return () => {};
      },
    });
    source.start(told);
    await stage.look();
    stage.place("a.yaml", importText("a"));
    await stage.settle();
    fails.at(-1)?.(noSpace);
    stage.place("b.yaml", importText("b"));
    await stage.settle();
    await source.stop();
    assert.deepEqual(told.news(), ["listed", "import demo/a", "import demo/b"]);
    assert.deepEqual([fails.length, ...logged], [3, "unwatched", "again", "unwatched"]);
  });
});
