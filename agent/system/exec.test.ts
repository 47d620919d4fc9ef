import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { execLines } from "./exec.ts";

/** All lines of a program's output. */
async function exec(argv: readonly [string, ...string[]], timeout?: number): Promise<string[]> {
  const lines: string[] = [];
  await execLines(argv, (line) => lines.push(line), timeout === undefined ? {} : { timeout });
  return lines;
}

describe("exec", () => {
  test("gives what the program prints, and the program no input", async () => {
    assert.deepEqual(await exec(["printf", "a\\nb\\n"]), ["a", "b"]);
    assert.deepEqual(await exec(["cat"]), []);
  });

  test("reads its output line by line, whatever its size", async () => {
    let lines = 0;
    await execLines(["seq", "100000"], () => lines++);
    assert.equal(lines, 100_000);
  });

  test("hands arguments on as they are: no shell reads them", async () => {
    assert.deepEqual(await exec(["printf", "%s\\n", "$(id); *"]), ["$(id); *"]);
  });

  test("says how a program failed, with its last words", async () => {
    await assert.rejects(exec(["sh", "-c", "echo no >&2; exit 3"]), {
      code: "CSP_EXEC_FAILED",
      message: "sh -c echo no >&2; exit 3: exit status 3: no",
    });
  });

  test("keeps the end of what a program complains of at length", async () => {
    const failed = exec(["sh", "-c", "seq 100000 >&2; echo the end >&2; exit 1"]);
    await assert.rejects(failed, (error: Error) => {
      assert.ok(error.message.length < 2200);
      assert.match(error.message, /the end$/);
      return true;
    });
  });

  test("says that a signal ended it", async () => {
    await assert.rejects(exec(["sh", "-c", "kill -TERM $$"]), {
      code: "CSP_EXEC_FAILED",
      message: /: SIGTERM: /,
    });
  });

  test("says that there is no such program", async () => {
    await assert.rejects(exec(["/nonexistent/program"]), { code: "CSP_EXEC_MISSING" });
  });

  test("says that a program may not be started", async () => {
    await assert.rejects(exec(["/etc"]), { code: "CSP_EXEC_FAILED", message: /EACCES/ });
  });

  test("kills a program that takes too long", async () => {
    await assert.rejects(exec(["sleep", "60"], 50), { code: "CSP_EXEC_TIMEOUT" });
  });

  test("does not wait for what the program has started, either", async () => {
    await assert.rejects(exec(["sh", "-c", "sleep 20; true"], 50), { code: "CSP_EXEC_TIMEOUT" });
  });

  test("is not waited for any longer once it is told to stop", async () => {
    for (const stop of [AbortSignal.abort(), AbortSignal.timeout(50)]) {
      await assert.rejects(
        execLines(["sleep", "60"], () => undefined, { stop }),
        {
          code: "CSP_EXEC_FAILED",
          message: "sleep: not waited for",
        },
      );
    }
  });
});
