import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { forgetUnused } from "./forget.ts";

test("three files of each kind are kept for a day, others for an hour, and files in use are kept", () => {
  const folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-forget-"));
  try {
    const hours = {
      a1: 0,
      a2: 0.5,
      a3: 2,
      a4: 3,
      a5: 0.9,
      b1: 23,
      b2: 25,
      c1: 0,
      c2: 0,
      c3: 0,
      c4: 0.1,
    };
    for (const [name, age] of Object.entries(hours)) {
      if (name === "a4") mkdirSync(join(folder, name));
      else writeFileSync(join(folder, name), "");
      const time = new Date(Date.now() - age * 3_600_000);
      utimesSync(join(folder, name), time, time);
    }
    forgetUnused(folder, (name) => name.charAt(0));
    assert.deepEqual(readdirSync(folder).sort(), ["a1", "a2", "a5", "b1", "c1", "c2", "c3", "c4"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
