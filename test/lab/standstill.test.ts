import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Process } from "./process.ts";

const SPIN = `
  const { Worker } = require("node:worker_threads");
  for (let i = 0; i < 3; i++) new Worker("for (;;);", { eval: true });
  console.log("spins");
`;

/** Ticks of processor time that a process has had: fields 14 and 15 of proc_pid_stat(5). */
function ticks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

test("after SIGSTOP no thread of a process runs, and after SIGCONT they continue", async () => {
  const program = new Process([process.execPath, "--eval", SPIN]);
  try {
    await program.line(/spins/);
    const { pid } = program;
    assert.ok(pid !== undefined);
    await sleep(100);
    program.signal("SIGSTOP");
    const before = ticks(pid);
    assert.ok(before > 0);
    await sleep(100);
    assert.equal(ticks(pid), before);
    program.signal("SIGCONT");
    while (ticks(pid) === before) await sleep(10);
  } finally {
    program.signal("SIGKILL");
    await program.exited;
  }
  program.signal("SIGSTOP");
});
