import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { DirectoryWatch, type OnEvent, type WatchDirectory } from "./directory-watch.ts";

let root: string;
let directory: string;
let heard: (string | null)[];
/** The listeners of the watches that are open. */
let open: OnEvent[];
const watch: WatchDirectory = (_path, onEvent) => {
  open.push(onEvent);
  return () => {
    open = open.filter((each) => each !== onEvent);
  };
};
const following = (path: string) =>
  new DirectoryWatch(path, watch, (_event, name) => heard.push(name));

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "watch-"));
  directory = join(root, "manifests");
  mkdirSync(directory);
  [heard, open] = [[], []];
});
afterEach(() => rmSync(root, { recursive: true }));

describe("DirectoryWatch", () => {
  it("opens one watch, and passes its events on", () => {
    const followed = following(directory);
    assert.deepEqual(followed.renew(), { value: true });
    assert.deepEqual(followed.renew(), { value: false });
    open[0]?.("renamed", "a.yaml");
    assert.deepEqual(heard, ["a.yaml"]);
    assert.equal(open.length, 1);
    followed.close();
    assert.equal(open.length, 0);
  });

  it("opens another when another directory is at the path, even without an event", () => {
    const followed = following(directory);
    followed.renew();
    renameSync(directory, join(root, "old"));
    mkdirSync(directory);
    assert.deepEqual(followed.renew(), { value: true });
    assert.equal(open.length, 1);
  });

  it("opens another after an event of the directory itself, however the path is written", () => {
    for (const path of [directory, `${directory}/`, `${directory}/../manifests/.`]) {
      const followed = following(path);
      followed.renew();
      heard = [];
      open[0]?.("renamed", "manifests");
      assert.deepEqual(heard, [null]);
      assert.equal(open.length, 0);
      assert.deepEqual(followed.renew(), { value: true });
      followed.close();
    }
  });

  it("reports why there is no directory, and finds it when it exists again", () => {
    const followed = following(directory);
    followed.renew();
    rmSync(directory, { recursive: true });
    const { mistake } = { mistake: undefined, ...followed.renew() };
    assert.equal(mistake?.detail, "ENOENT");
    assert.equal(open.length, 0);
    mkdirSync(directory);
    assert.deepEqual(followed.renew(), { value: true });
  });

  it("reports why there are no events, at the start or later, until there are again", () => {
    let fail: ((error: Error) => void) | undefined;
    const error = Object.assign(new Error(), { code: "ENOSPC" });
    const failing: WatchDirectory = (path, onEvent, onError) => {
      if (fail === undefined) {
        fail = onError;
        throw error;
      }
      fail = onError;
      return watch(path, onEvent, onError);
    };
    const followed = new DirectoryWatch(directory, failing, () => {});
    const state = () => followed.unwatched?.fault;
    assert.deepEqual([followed.renew(), state()], [{ value: true }, "unwatched"]);
    assert.deepEqual([followed.renew(), state()], [{ value: true }, undefined]);
    fail?.(error);
    assert.deepEqual([open.length, state()], [0, "unwatched"]);
    assert.deepEqual([followed.renew(), state()], [{ value: true }, undefined]);
  });

  it("lists the manifests only", () => {
    for (const name of ["a.yaml", ".b.yaml", "c.txt", "d.json"]) mkdirSync(join(directory, name));
    const { value } = { value: undefined, ...following(directory).list() };
    assert.deepEqual(value?.toSorted(), ["a.yaml", "d.json"]);
  });
});
