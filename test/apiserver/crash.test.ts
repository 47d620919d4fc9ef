import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Process } from "../lab/process.ts";

/** Programs that have a directory in their arguments. */
function programsOf(directory: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(argvOf)
    .filter((argv) => argv.some((argument) => argument.includes(directory)))
    .map(([program = ""]) => program.replace(/.*\//, ""))
    .sort();
}

/** Empty for a process that has ended, also before its parent has read its exit code. */
function argvOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}

// In a namespace, and by other signals: test/lab/crash.test.ts, which has the same guard.
test("A control plane is removed when its owner is killed", async () => {
  const owner = new Process([process.execPath, `${import.meta.dirname}/fixtures/owner.ts`]);
  const { directory } = JSON.parse(await owner.line(/directory/, 60_000)) as {
    directory: string;
  };
  assert.deepEqual(programsOf(directory), ["etcd", "kube-apiserver"]);
  owner.signal("SIGKILL");
  await owner.exited;
  const isGone = () => programsOf(directory).length === 0 && !existsSync(directory);
  for (let i = 0; i < 500 && !isGone(); i++) await sleep(10);
  assert.deepEqual(programsOf(directory), []);
  assert.ok(!existsSync(directory));
});
