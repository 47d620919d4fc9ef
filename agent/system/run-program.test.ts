import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { codeOf } from "../../common/errors.ts";
import type { Argv } from "./program-result.ts";
import { execLines, runProgram } from "./run-program.ts";
import { probeCommand } from "./tcp-probe.ts";
import { textOf } from "./text-file.ts";

/** All lines of a program's output. */
async function exec(argv: Argv, timeout?: number): Promise<string[]> {
  const lines: string[] = [];
  await execLines(argv, (line) => lines.push(line), timeout === undefined ? {} : { timeout });
  return lines;
}

describe("execLines", () => {
  test("returns the output of a program without input", async () => {
    assert.deepEqual(await exec(["printf", "a\\nb\\n"]), ["a", "b"]);
    assert.deepEqual(await exec(["cat"]), []);
  });

  test("reads its output line by line, whatever its size", async () => {
    let lines = 0;
    await execLines(["seq", "100000"], () => lines++);
    assert.equal(lines, 100_000);
  });

  test("passes arguments without a shell", async () => {
    assert.deepEqual(await exec(["printf", "%s\\n", "$(id); *"]), ["$(id); *"]);
  });

  test("reports how a program failed, with its stderr", async () => {
    await assert.rejects(exec(["sh", "-c", "echo no >&2; exit 3"]), {
      code: "CSP_EXEC_FAILED",
      message: "sh -c echo no >&2; exit 3: exit status 3: no",
    });
  });

  test("keeps the end of a long stderr", async () => {
    const failed = exec(["sh", "-c", "seq 100000 >&2; echo the end >&2; exit 1"]);
    await assert.rejects(failed, (error: Error) => {
      assert.ok(error.message.length < 2200);
      assert.match(error.message, /the end$/);
      return true;
    });
  });

  test("reports a signal", async () => {
    await assert.rejects(exec(["sh", "-c", "kill -TERM $$"]), {
      code: "CSP_EXEC_FAILED",
      message: /: SIGTERM$/,
    });
  });

  test("reports a missing program", async () => {
    await assert.rejects(exec(["/nonexistent/program"]), { code: "CSP_EXEC_MISSING" });
  });

  test("reports a program that may not be started", async () => {
    await assert.rejects(exec(["/etc"]), { code: "CSP_EXEC_FAILED", message: /EACCES/ });
  });

  test("kills a program after the timeout", async () => {
    await assert.rejects(exec(["sleep", "60"], 50), { code: "CSP_EXEC_TIMEOUT" });
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
    assert.equal((await runProgram(["sh", "-c", "kill -TERM $$"])).status, undefined);
  });

  test("reports a missing program, also if another program should start it", async () => {
    assert.equal((await runProgram(["/nonexistent/program"])).missing, true);
    assert.equal((await runProgram(["env", "/nonexistent/program"])).missing, true);
    assert.equal((await runProgram(["false"])).missing, false);
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
