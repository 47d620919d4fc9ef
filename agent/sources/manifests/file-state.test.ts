import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  type FileState,
  isSameState,
  MOST_BYTES,
  readManifest,
  statManifest,
} from "./file-state.ts";

let directory: string;
const at = (name: string) => join(directory, name);
const faultOf = (state: FileState) => (state.kind === "fault" ? state.mistake : undefined);

before(() => {
  directory = mkdtempSync(join(tmpdir(), "state-"));
});
after(() => rmSync(directory, { recursive: true }));

describe("statManifest", () => {
  it("distinguishes a file from its replacement, and from a rewrite with the same size and times", () => {
    writeFileSync(at("a"), "one");
    utimesSync(at("a"), 1, 1);
    const first = statManifest(at("a")).state;
    assert.ok(isSameState(first, statManifest(at("a")).state));
    // The file system's clock moves in ticks of up to 10 ms.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    writeFileSync(at("a"), "two");
    utimesSync(at("a"), 1, 1);
    const second = statManifest(at("a")).state;
    assert.ok(!isSameState(first, second));
    writeFileSync(at("b"), "two");
    renameSync(at("b"), at("a"));
    const third = statManifest(at("a")).state;
    assert.ok(second.kind === "file" && third.kind === "file" && second.inode !== third.inode);
  });

  it("follows symbolic links, and reports them", () => {
    writeFileSync(at("target"), "x");
    symlinkSync("target", at("link"));
    assert.equal(statManifest(at("link")).link, true);
    assert.ok(isSameState(statManifest(at("link")).state, statManifest(at("target")).state));
    assert.equal(statManifest(at("target")).link, false);
  });

  it("reports a dangling or circular link as a fault, and a missing name as deleted", () => {
    symlinkSync("nowhere", at("dangling"));
    symlinkSync("circle", at("circle"));
    assert.equal(faultOf(statManifest(at("dangling")).state)?.detail, "ENOENT");
    assert.equal(faultOf(statManifest(at("circle")).state)?.detail, "ELOOP");
    assert.deepEqual(statManifest(at("missing")), { state: { kind: "gone" }, link: false });
  });
});

describe("readManifest", () => {
  it("reads a file, and keeps nothing open", () => {
    writeFileSync(at("a"), "content");
    const open = readdirSync("/proc/self/fd").length;
    assert.equal(readManifest(at("a")).bytes?.toString(), "content");
    assert.equal(readdirSync("/proc/self/fd").length, open);
  });

  it("reads no file of more than the bytes allowed", () => {
    writeFileSync(at("large"), "");
    truncateSync(at("large"), MOST_BYTES + 1);
    const { state, bytes } = readManifest(at("large"));
    assert.equal(faultOf(state)?.fault, "too-large");
    assert.equal(bytes, undefined);
  });

  it("does not block: a FIFO and a directory are not files", () => {
    execFileSync("mkfifo", [at("fifo")]);
    mkdirSync(at("below"));
    for (const name of ["fifo", "below"]) {
      assert.equal(faultOf(readManifest(at(name)).state)?.fault, "not-a-file");
      assert.equal(faultOf(statManifest(at(name)).state)?.fault, "not-a-file");
    }
  });
});
