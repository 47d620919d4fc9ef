import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { HEAP_FLAGS } from "./process.ts";

test("this Node supports the flags: an unknown one would have no effect, and print a warning at each start", () => {
  const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  for (const flag of HEAP_FLAGS) {
    const [name = ""] = flag.split("=");
    assert.ok(options.includes(`\n  ${name} (`), name);
  }
});
