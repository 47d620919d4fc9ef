import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const AGENT = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));

/** Runs the agent by way of a shell, for its redirections: `"$@"` stands for the agent. */
function shell(line: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync("sh", ["-c", line, "sh", AGENT, ...args], { encoding: "utf8" });
}

test("what a command prints on a full disk is an error, in words", () => {
  const { status, stderr } = shell('"$@" >/dev/full', "version");
  assert.equal(status, 1);
  assert.match(stderr, /^clusterset-agent: standard output: ENOSPC.*\n$/);
});

test("a reader that has seen enough is none", () => {
  const { stdout, stderr } = shell('{ "$@"; echo "status $?" >&2; } | true', "help");
  assert.deepEqual([stdout, stderr], ["", "status 0\n"]);
});

test("a refusal that cannot be printed is one all the same", () => {
  for (const where of ["2>/dev/full", "2>&-"]) {
    assert.equal(shell(`"$@" ${where}`, "run", "--no-such-flag").status, 2, where);
  }
});

test("a log that cannot be written changes nothing about how a command ends", () => {
  const full = openSync("/dev/full", "w");
  const args = ["plan", "--manifests", "/nonexistent", "--cluster-id", "c1"];
  const { status } = spawnSync(AGENT, args, { stdio: ["ignore", "ignore", full] });
  closeSync(full);
  assert.equal(status, 1);
});
