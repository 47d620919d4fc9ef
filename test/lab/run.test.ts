import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { isAlive, newRun, runOf } from "./run.ts";

test("The name of every object of a lab contains its run", () => {
  const run = newRun();
  assert.deepEqual(runOf(run.id), run);
  assert.deepEqual(runOf(`${run.id}_c1_n1_web`), run);
});

test("Other names belong to no run", () => {
  for (const name of ["default", "csp-1-2-abc", "csp-1-2-abcde", "xcsp-1-2-abcd", "csp-ipvs0"]) {
    assert.equal(runOf(name), undefined, name);
  }
});

test("A run is alive as long as its owner, not as long as any process has the owner's pid", () => {
  const run = newRun();
  assert.equal(isAlive(run), true);
  assert.equal(isAlive({ ...run, startTime: run.startTime - 1 }), false);
});

test("A run whose owner has ended is dead", async () => {
  const child = spawn(process.execPath, [
    "--input-type=module",
    "--eval",
    `const { newRun } = await import(${JSON.stringify(`${import.meta.dirname}/run.ts`)});
     console.log(newRun().id);`,
  ]);
  let id = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    id += text;
  });
  await once(child, "close");
  const run = runOf(id.trim());
  assert.equal(run?.pid, child.pid);
  assert.ok(run !== undefined && !isAlive(run));
});
