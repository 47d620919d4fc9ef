import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { exec, execLines } from "./exec.ts";

describe("exec", () => {
  test("gives the program its input, and returns its output", async () => {
    assert.equal(await exec(["cat"], { stdin: "a\nb\n" }), "a\nb\n");
    assert.equal(await exec(["true"]), "");
  });

  test("reads its output line by line, whatever its size", async () => {
    let lines = 0;
    await execLines(["seq", "100000"], () => lines++);
    assert.equal(lines, 100_000);
  });

  test("hands arguments on as they are: no shell reads them", async () => {
    assert.equal(await exec(["printf", "%s\\n", "$(id); *"]), "$(id); *\n");
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
    await assert.rejects(exec(["sleep", "60"], { timeout: 50 }), { code: "CSP_EXEC_TIMEOUT" });
  });

  test("minds its exit status only, if it ends without reading", async () => {
    assert.equal(await exec(["true"], { stdin: "x".repeat(1e6) }), "");
  });
});
