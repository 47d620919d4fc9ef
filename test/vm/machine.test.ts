import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Process } from "../lab/process.ts";
import { programs, STORE } from "../lab/removal.ts";
import { runInGuest } from "./guest-tests.ts";

const FIXTURES = "test/vm/fixtures";

const PANIC = `${FIXTURES}/panic.ts`;
const SILENCE = `${FIXTURES}/silence.ts`;
const ignore = () => undefined;

test("a file passes or fails by its own tests, and a panic fails the running file with the kernel's last lines", async () => {
  const files = [`${FIXTURES}/mixed.ts`];
  const results = await runInGuest({ files, alone: [PANIC], commands: [] }, ignore);
  const of = (file: string) => results.filter((result) => result.file === file);
  assert.deepEqual(
    of(`${FIXTURES}/mixed.ts`).map(({ name, outcome }) => `${name}: ${outcome}`),
    ["passes: passed", "fails: failed", "is skipped: skipped", "lacks a module: failed"],
  );
  assert.match(of(`${FIXTURES}/mixed.ts`)[1]?.reason ?? "", /1 !== 2/);
  const [panic, ...more] = of(PANIC);
  assert.deepEqual(more, []);
  assert.equal(panic?.outcome, "failed");
  assert.match(panic?.reason ?? "", /Kernel panic - not syncing: sysrq triggered crash/);
});

test("a guest that prints nothing for long is ended", async () => {
  const results = await runInGuest({ files: [SILENCE], commands: [] }, ignore, 500);
  assert.match(results.map(({ reason }) => reason).join("\n"), /silent for 0\.5 s/);
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
function guestsOf(owner: number): number[] {
  const disk = `${STORE}/csp-${owner}-`;
  const found = programs().filter(
    ({ argv }) => argv[0]?.startsWith("qemu-") && argv.some((word) => word.includes(disk)),
  );
  return found.map(({ pid }) => pid);
}

function disksOf(owner: number): string[] {
  return readdirSync(STORE).filter((name) => name.startsWith(`csp-${owner}-`));
}
