import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Process } from "../lab/process.ts";
import { programs } from "../lab/removal.ts";

/** Programs that have a directory in their arguments. */
function programsOf(directory: string): string[] {
  return programs()
    .filter(({ argv }) => argv.some((argument) => argument.includes(directory)))
    .map(({ argv: [program = ""] }) => basename(program))
    .sort();
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
