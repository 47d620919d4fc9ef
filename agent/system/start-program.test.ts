import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Argv } from "./program-result.ts";
import { killProgram, startProgram } from "./start-program.ts";

/** A program of its own, because what it does to itself would harm the other tests. */
const STARVING = fileURLToPath(new URL("../../test/stages/programs/starving.ts", import.meta.url));

test("without a free descriptor, no program starts, the error says so, and later starts succeed", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [STARVING]);
  assert.deepEqual(JSON.parse(stdout), {
    starved: {
      credentialPlugin: "Error: spawn sh EMFILE",
      execLines: "CSP_EXEC_STARVED",
      nodeLock: "CSP_LOCK_UNAVAILABLE",
      restore: "CSP_EXEC_STARVED",
      runProgram: "CSP_EXEC_STARVED",
      startProgram: "CSP_EXEC_STARVED",
    },
    after: {
      credentialPlugin: "given",
      execLines: "done",
      nodeLock: "taken",
      restore: "done",
      runProgram: 0,
      startProgram: "exit status 0",
    },
  });
});

describe("a started program", () => {
  const ignore = () => undefined;

  test("reads its input and writes lines until its input ends", async () => {
    const lines: string[] = [];
    const { child, ended } = startProgram(["cat"], (line) => lines.push(line));
    child?.stdin.write("one\n");
    child?.stdin.end("two\n");
    const how = "exit status 0";
    assert.deepEqual(await ended, { how, status: 0, stderr: "" });
    assert.deepEqual(lines, ["one", "two"]);
  });

  test("reports its exit status and the end of stderr", async () => {
    const argv: Argv = ["sh", "-c", "seq 10000 >&2; echo no >&2; exit 3"];
    const { how, status, unstarted, stderr } = await startProgram(argv, ignore).ended;
    assert.deepEqual([how, status, unstarted], ["exit status 3", 3, undefined]);
    assert.match(stderr, /\nno$/);
    assert.ok(stderr.length <= 2000);
  });

  test("can be killed", async () => {
    const sleeping = startProgram(["sleep", "60"], ignore);
    killProgram(sleeping);
    const { how, status, unstarted } = await sleeping.ended;
    assert.deepEqual([how, status, unstarted], ["SIGKILL", undefined, undefined]);
  });

  test("can be killed although a process that it started holds its output open", async () => {
    const started = Promise.withResolvers<string>();
    const script = "sleep 20 & echo $!; wait";
    const sleeping = startProgram(["sh", "-c", script], (line) => started.resolve(line));
    const pid = Number(await started.promise);
    killProgram(sleeping);
    assert.equal((await sleeping.ended).how, "SIGKILL");
    process.kill(pid, "SIGKILL");
  });

  test("reports a missing program, also if another program should start it", async () => {
    const argvs: Argv[] = [["/nonexistent/x"], ["env", "/nonexistent/x"]];
    for (const argv of argvs) {
      const { child, ended } = startProgram(argv, ignore);
      child?.stdin.write("nobody reads this\n");
      assert.equal((await ended).unstarted, "CSP_EXEC_MISSING");
    }
  });

  test("may be written to after its end", async () => {
    const dead = startProgram(["true"], ignore);
    await dead.ended;
    dead.child?.stdin.write("x".repeat(1e6));
    killProgram(dead);
  });

  test("does not receive a Ctrl-C for the agent", async () => {
    // The fifth field of /proc/PID/stat is the process group.
    const lines: string[] = [];
    await startProgram(["cut", "-d ", "-f1,5", "/proc/self/stat"], (line) => lines.push(line))
      .ended;
    const [pid, group] = (lines[0] ?? "").split(" ");
    assert.equal(group, pid);
  });
});
