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
import { isSameSight, lookAt, MOST_BYTES, readManifest, type Sight } from "./sight.ts";

let directory: string;
const at = (name: string) => join(directory, name);
const faultOf = (sight: Sight) => (sight.kind === "fault" ? sight.mistake : undefined);

before(() => {
  directory = mkdtempSync(join(tmpdir(), "sight-"));
});
after(() => rmSync(directory, { recursive: true }));

describe("lookAt", () => {
  it("tells a file from its replacement, and from itself rewritten though size and times are kept", () => {
    writeFileSync(at("a"), "one");
    utimesSync(at("a"), 1, 1);
    const first = lookAt(at("a")).sight;
    assert.ok(isSameSight(first, lookAt(at("a")).sight));
    // The file system's clock moves in ticks of up to 10 ms.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    writeFileSync(at("a"), "two");
    utimesSync(at("a"), 1, 1);
    const second = lookAt(at("a")).sight;
    assert.ok(!isSameSight(first, second));
    writeFileSync(at("b"), "two");
    renameSync(at("b"), at("a"));
    const third = lookAt(at("a")).sight;
    assert.ok(second.kind === "file" && third.kind === "file" && second.inode !== third.inode);
  });

  it("looks through symbolic links, and says that there is one", () => {
    writeFileSync(at("target"), "x");
    symlinkSync("target", at("link"));
    assert.equal(lookAt(at("link")).link, true);
    assert.ok(isSameSight(lookAt(at("link")).sight, lookAt(at("target")).sight));
    assert.equal(lookAt(at("target")).link, false);
  });

  it("takes a link that leads nowhere, or in a circle, for a fault, and a missing name for gone", () => {
    symlinkSync("nowhere", at("dangling"));
    symlinkSync("circle", at("circle"));
    assert.equal(faultOf(lookAt(at("dangling")).sight)?.detail, "ENOENT");
    assert.equal(faultOf(lookAt(at("circle")).sight)?.detail, "ELOOP");
    assert.deepEqual(lookAt(at("missing")), { sight: { kind: "gone" }, link: false });
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
    const { sight, bytes } = readManifest(at("large"));
    assert.equal(faultOf(sight)?.fault, "too-large");
    assert.equal(bytes, undefined);
  });

  it("waits for nothing and nobody: a FIFO and a directory are no files", () => {
    execFileSync("mkfifo", [at("fifo")]);
    mkdirSync(at("below"));
    for (const name of ["fifo", "below"]) {
      assert.equal(faultOf(readManifest(at(name)).sight)?.fault, "not-a-file");
      assert.equal(faultOf(lookAt(at(name)).sight)?.fault, "not-a-file");
    }
  });
});
