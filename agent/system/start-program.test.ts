import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { codeOf } from "../../common/errors.ts";
import { textOf } from "./kernel-files.ts";
import type { Argv } from "./program-result.ts";
import { execLines, runProgram } from "./run-program.ts";
import { killProgram, startProgram, TextEnd } from "./start-program.ts";
import { probeCommand } from "./tcp-connect.ts";
import { longestTimeout, ToolTimeout } from "./tool-timeout.ts";

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

/** All lines of a program's output. */
async function exec(argv: Argv, timeout?: number): Promise<string[]> {
  const lines: string[] = [];
  await execLines(argv, (line) => lines.push(line), timeout === undefined ? {} : { timeout });
  return lines;
}

describe("execLines", () => {
  test("returns the output of a program without input, whatever its size, and passes arguments without a shell", async () => {
    assert.deepEqual(await exec(["printf", "a\\nb\\n"]), ["a", "b"]);
    assert.deepEqual(await exec(["cat"]), []);
    assert.equal((await exec(["seq", "100000"])).length, 100_000);
    assert.deepEqual(await exec(["printf", "%s\\n", "$(id); *"]), ["$(id); *"]);
  });

  test("reports how a program failed, with its stderr", async () => {
    await assert.rejects(exec(["sh", "-c", "echo no >&2; exit 3"]), {
      code: "CSP_EXEC_FAILED",
      message: "sh -c echo no >&2; exit 3: exit status 3: no",
    });
  });

  test("reports a program that may not be started", async () => {
    await assert.rejects(exec(["/etc"]), { code: "CSP_EXEC_FAILED", message: /EACCES/ });
  });

  test("does not wait for processes that the program started", async () => {
    await assert.rejects(exec(["sh", "-c", "sleep 20; true"], 50), { code: "CSP_EXEC_TIMEOUT" });
  });

  test("rejects at once when it is stopped", async () => {
    for (const stop of [AbortSignal.abort(), AbortSignal.timeout(50)]) {
      await assert.rejects(
        execLines(["sleep", "60"], () => undefined, { stop }),
        {
          code: "CSP_EXEC_FAILED",
          message: "sleep: canceled",
        },
      );
    }
  });
});

describe("the result of a program", () => {
  test("is its exit status and its output", async () => {
    assert.deepEqual(await runProgram(["sh", "-c", "echo a; echo b >&2; exit 3"]), {
      status: 3,
      stdout: "a\n",
      stderr: "b",
      missing: false,
    });
    assert.equal((await runProgram(["true"])).status, 0);
    assert.equal((await runProgram(["env", "/nonexistent/program"])).missing, true);
    assert.equal((await runProgram(["sh", "-c", "kill -TERM $$"])).status, undefined);
  });

  test("is that of a run without input and in the locale C", async () => {
    assert.equal((await runProgram(["cat"])).stdout, "");
    assert.equal((await runProgram(["sh", "-c", "echo $LC_ALL"])).stdout, "C\n");
  });

  test("comes at once when it is stopped", async () => {
    const stop = new AbortController();
    const outcome = runProgram(["sleep", "60"], stop.signal);
    stop.abort();
    assert.equal((await outcome).status, undefined);
    assert.equal((await runProgram(["true"], stop.signal)).status, undefined);
  });
});

test("a file that cannot be read is undefined", async () => {
  assert.match((await textOf("/proc/self/mountinfo")) ?? "", / - /);
  assert.equal(await textOf("/nonexistent"), undefined);
  assert.equal(await textOf("/proc"), undefined);
});

test("a probe prints the answer: nothing can listen on port 0, so the kernel rejects it", async () => {
  const [program = "", ...args] = probeCommand("127.0.0.1");
  const { status, stdout } = await runProgram([program, ...args]);
  assert.deepEqual([status, stdout], [0, "ECONNREFUSED\n"]);
});

test("a command that works gets more time after each timeout, until it succeeds", async () => {
  const argv = ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"] as const;
  let failures = 0;
  for (;;) {
    try {
      await execLines(argv, () => undefined, { timeout: 40 });
      break;
    } catch (error) {
      assert.equal(codeOf(error), "CSP_EXEC_TIMEOUT");
      assert.notEqual(++failures, 100);
    }
  }
  assert.ok(failures > 0);
});

test("what nft prints of a long transaction keeps its error, in whatever pieces it arrives", () => {
  const error = "/dev/stdin:1:1-9: Error: Could not process rule: File exists";
  const printed = `${error}\nadd element ${"1.2.3.4, ".repeat(9000)}\n${"^".repeat(80_000)}\n`;
  for (const size of [1, 64, 65_536, printed.length]) {
    const end = new TextEnd();
    for (let from = 0; from < printed.length; from += size)
      end.add(printed.slice(from, from + size));
    assert.ok(end.text.startsWith(`${error}\nadd element 1.2.3.4, `), `${size}`);
    assert.ok(end.text.length <= 2000);
  }
});

test("the longest timeout of calls under way is known until they end", () => {
  const timeout = new ToolTimeout(1e9);
  assert.equal(longestTimeout(), 0);
  const [short, long] = [timeout.begin(), timeout.begin(2e9)];
  assert.equal(longestTimeout(), 2e9);
  long.ended();
  assert.equal(longestTimeout(), 1e9);
  short.failed();
  assert.equal(longestTimeout(), 0);
});

test("calls may take twice as long after each that worked and has not ended in time, and as at first after a short one", () => {
  const timeout = new ToolTimeout(60_000);
  for (const ms of [60_000, 120_000, 240_000]) {
    const call = timeout.begin();
    assert.equal(call.ms, ms);
    call.expired(ms / 2);
  }
  timeout.begin().failed();
  assert.equal(timeout.begin().ms, 480_000, "a failure says nothing about the time");
  assert.equal(timeout.begin(90_000).ms, 720_000, "a call that usually takes longer");
  timeout.begin().ended();
  assert.equal(timeout.begin().ms, 60_000);
});

test("calls that hang without using a processor may not take longer", () => {
  const timeout = new ToolTimeout(60_000);
  timeout.begin().expired(30);
  assert.equal(timeout.begin().ms, 60_000);
});

test("no timeout is longer than a timer", () => {
  const timeout = new ToolTimeout(60_000);
  for (let i = 0; i < 100; i++) timeout.begin().expired(Number.POSITIVE_INFINITY);
  assert.equal(timeout.begin().ms, 2 ** 31 - 1);
});
