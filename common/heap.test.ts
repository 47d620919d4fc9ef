import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { HEAP_FLAGS } from "./heap.ts";

test("this Node knows the flags: one that it does not know would change nothing, and say so at every start", () => {
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  for (const flag of HEAP_FLAGS) {
    const [name = ""] = flag.split("=");
    assert.ok(options.includes(`\n  ${name} (`), name);
  }
});
