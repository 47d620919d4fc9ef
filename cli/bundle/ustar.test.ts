import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { END, entry } from "./ustar.ts";

test("tar unpacks what was packed: empty files, whole blocks, long paths and other scripts", () => {
  const files = new Map([
    ["empty.txt", ""],
    ["block.txt", "x".repeat(512)],
    [`${"d".repeat(90)}/${"e".repeat(50)}/${"f".repeat(90)}.log`, "long\n"],
    ["Größe.txt", "ü\n"],
  ]);
  const folder = mkdtempSync(join(tmpdir(), "clusterset-ustar-"));
  try {
    const parts = [...files].map(([path, text]) => entry(path, Buffer.from(text), 1_700_000_000));
    writeFileSync(join(folder, "a.tar"), Buffer.concat([...parts, END]));
    execFileSync("tar", ["-xf", "a.tar"], {
      cwd: folder,
      env: { ...process.env, LC_ALL: "C.UTF-8" },
    });
    for (const [path, text] of files) assert.equal(readFileSync(join(folder, path), "utf8"), text);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a path that no header can hold is an error that names it", () => {
  assert.throws(() => entry("x".repeat(101), Buffer.alloc(0), 0), /x+: too long for an archive/);
});
