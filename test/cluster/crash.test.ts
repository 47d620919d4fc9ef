import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { cgroupTrees } from "../lab/cgroups.ts";
import { Process, textAt } from "../lab/process.ts";
import { SCRATCH, STORE } from "../lab/removal.ts";
import { eventually } from "../stages/agent-process.ts";

for (const moment of [/^csp-/, /^up$/]) {
  test(`Clusters whose owner is killed at ${moment} leave nothing behind`, async () => {
    const owner = new Process([process.execPath, `${import.meta.dirname}/fixtures/owner.ts`]);
    const run = await owner.line(/^csp-/, 300_000);
    await owner.line(moment, 180_000);
    owner.signal("SIGKILL");
    await owner.exited;
    await eventually(() => {
      const namespaces = readdirSync("/run/netns").filter((name) => name.startsWith(run));
      const places = [...cgroupTrees(), SCRATCH, STORE].map((folder) => `${folder}/${run}`);
      assert.deepEqual([namespaces, places.filter(existsSync), programsOf(run)], [[], [], []]);
    }, 30_000);
  });
}

/** Whatever has the run in its arguments or its environment. The watchdog does, as long as it sweeps. */
function programsOf(run: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    return ["cmdline", "environ"].some((file) => textAt(`/proc/${pid}/${file}`).includes(run));
  });
}
