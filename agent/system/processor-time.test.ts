import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { processorClock } from "./kernel-files.ts";

test("programs that have ended count, and waiting does not", async () => {
  const processorTime = processorClock();
  const before = processorTime();
  await sleep(400);
  const idle = processorTime() - before;
  spawnSync("sh", ["-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"]);
  const busy = processorTime() - before - idle;
  assert.ok(idle < 200 && busy >= 50, `${idle} ms idle, ${busy} ms busy`);
});
