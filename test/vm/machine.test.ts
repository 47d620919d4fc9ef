import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Process } from "../lab/process.ts";
import { STORE } from "../lab/removal.ts";
import { LIMITS, runInGuest } from "./guest-tests.ts";
import { RecordedStage } from "./recorded-stage.ts";

const FIXTURES = "test/vm/fixtures";

test("a guest that panics fails the run, and the kernel's last lines are shown", async () => {
  const stage = new RecordedStage();
  const run = runInGuest(stage, { files: [`${FIXTURES}/panic.ts`], commands: [] });
  await assert.rejects(run, /Kernel panic - not syncing: sysrq triggered crash/);
  // The file at least; its test may not have been reported yet.
  assert.ok(
    stage.lines.some((line) => /panic\.ts.* fails: the guest ended while this ran/.test(line)),
    stage.lines.join("\n"),
  );
});

test("a guest that prints nothing for long is ended", async () => {
  const stage = new RecordedStage();
  const limits = { ...LIMITS, silenceMs: 500 };
  const run = runInGuest(stage, { files: [`${FIXTURES}/silence.ts`], commands: [] }, limits);
  await assert.rejects(run, /silent for 0\.5 s/);
  assert.deepEqual(guestsOf(process.pid), []);
});

for (const signal of ["SIGKILL", "SIGINT"] as const) {
  test(`a process that ends by ${signal} leaves no guest and no disk`, {
    timeout: 300_000,
  }, async () => {
    const owner = new Process([process.execPath, `${import.meta.dirname}/fixtures/owner.ts`]);
    const { pid = 0 } = owner;
    while (guestsOf(pid).length === 0) await sleep(50);
    owner.signal(signal);
    await owner.exited;
    while (guestsOf(pid).length > 0 || disksOf(pid).length > 0) await sleep(50);
  });
}

/** Emulators whose disk belongs to a process. */
function guestsOf(owner: number): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      return argv.startsWith("qemu-") && argv.includes(`${STORE}/csp-${owner}-`);
    } catch {
      return false; // It has just ended.
    }
  });
}

function disksOf(owner: number): string[] {
  return readdirSync(STORE).filter((name) => name.startsWith(`csp-${owner}-`));
}
