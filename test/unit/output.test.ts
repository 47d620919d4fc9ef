import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const AGENT = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));

/** Runs the agent in a shell, for its redirections: `"$@"` is the agent. */
function shell(line: string, ...args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync("sh", ["-c", line, "sh", AGENT, ...args], { encoding: "utf8" });
}

test("printing to a full disk is an error with a message", () => {
  const { status, stderr } = shell('"$@" >/dev/full', "version");
  assert.equal(status, 1);
  assert.match(stderr, /^clusterset-agent: standard output: ENOSPC.*\n$/);
});

test("a closed pipe is not an error", () => {
  const { stdout, stderr } = shell('{ "$@"; echo "status $?" >&2; } | true', "help");
  assert.deepEqual([stdout, stderr], ["", "status 0\n"]);
});

test("a usage error that cannot be printed still sets the exit code", () => {
  for (const where of ["2>/dev/full", "2>&-"]) {
    assert.equal(shell(`"$@" ${where}`, "run", "--no-such-flag").status, 2, where);
  }
});

test("a log that cannot be written does not change the exit code", () => {
  const full = openSync("/dev/full", "w");
  const args = ["plan", "--manifests", "/nonexistent", "--cluster-id", "c1"];
  const { status } = spawnSync(AGENT, args, { stdio: ["ignore", "ignore", full] });
  closeSync(full);
  assert.equal(status, 1);
});
