import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lab } from "./lab.ts";
import { Process } from "./process.ts";
import { programs, SCRATCH } from "./removal.ts";

/** Another process that owns a lab with a program in it. */
async function startOwner() {
  const owner = new Process([process.execPath, `${import.meta.dirname}/fixtures/owner.ts`]);
  const { run, pid } = JSON.parse(await owner.line(/run/)) as { run: string; pid: number };
  return { owner, run, pid };
}

const namespaces = (run: string) =>
  readdirSync("/run/netns").filter((name) => name.startsWith(run));
const isGone = (run: string, pid: number) =>
  namespaces(run).length === 0 &&
  !existsSync(`${SCRATCH}/${run}`) &&
  programs().every((one) => one.pid !== pid);

async function untilGone(run: string, pid: number): Promise<void> {
  for (let i = 0; i < 1_000 && !isGone(run, pid); i++) await sleep(10);
  assert.ok(isGone(run, pid), `still there: ${namespaces(run).join(" ")}`);
}

test("A lab whose owner is killed is removed at once, with all its processes", async () => {
  const { owner, run, pid } = await startOwner();
  assert.equal(namespaces(run).length, 3);
  owner.signal("SIGKILL");
  await owner.exited;
  await untilGone(run, pid);
});

test("Several processes can remove the leftovers of a dead owner at the same time", async () => {
  const { owner, run, pid } = await startOwner();
  owner.signal("SIGKILL");
  await owner.exited;
  const sweep = [process.execPath, `${import.meta.dirname}/sweep.ts`];
  const sweeps = Array.from({ length: 4 }, () => new Process(sweep));
  const exits = await Promise.all(sweeps.map((one) => one.exited));
  const errors = sweeps.map((one) => one.errors).join("");
  assert.ok(
    exits.every(({ code }) => code === 0),
    errors,
  );
  assert.ok(isGone(run, pid));
});

for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
  test(`A program that ends by ${signal} has removed its lab before it ends`, async () => {
    const { owner, run, pid } = await startOwner();
    owner.signal(signal as NodeJS.Signals);
    assert.deepEqual(await owner.exited, { code, signal: null });
    assert.ok(isGone(run, pid));
  });
}

test("Leftovers of a lab whose watchdog was also killed are removed; labs with a live owner are not", async () => {
  await using mine = await Lab.oneNode();
  const { owner, run, pid } = await startOwner();
  for (const watchdog of watchdogsOf(run)) process.kill(watchdog, "SIGKILL");
  owner.signal("SIGKILL");
  await owner.exited;
  // Not a word on what is there now: a lab that comes up beside this test may have swept it already.
  execFileSync(process.execPath, [`${import.meta.dirname}/sweep.ts`]);
  assert.ok(isGone(run, pid));
  assert.equal(namespaces(mine.id).length, 2);
});

function watchdogsOf(run: string): number[] {
  const found = programs().filter(({ argv }) => argv.includes("watchdog") && argv.includes(run));
  assert.equal(found.length, 1);
  return found.map(({ pid }) => pid);
}
