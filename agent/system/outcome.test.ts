import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { knockCommand } from "./knock.ts";
import { outcomeOf } from "./outcome.ts";
import { textOf } from "./text-file.ts";

describe("the outcome of a program", () => {
  test("is its status and its words, however it ended", async () => {
    assert.deepEqual(await outcomeOf(["sh", "-c", "echo a; echo b >&2; exit 3"]), {
      status: 3,
      stdout: "a\n",
      stderr: "b\n",
      missing: false,
    });
    assert.equal((await outcomeOf(["true"])).status, 0);
    assert.equal((await outcomeOf(["sh", "-c", "kill -TERM $$"])).status, undefined);
  });

  test("says that there is no such program, also of one that another starts", async () => {
    assert.equal((await outcomeOf(["/nonexistent/program"])).missing, true);
    assert.equal((await outcomeOf(["env", "/nonexistent/program"])).missing, true);
    assert.equal((await outcomeOf(["false"])).missing, false);
  });

  test("gives the program no input, and words that do not depend on the locale", async () => {
    assert.equal((await outcomeOf(["cat"])).stdout, "");
    assert.equal((await outcomeOf(["sh", "-c", "echo $LC_ALL"])).stdout, "C\n");
  });

  test("comes early if it is stopped", async () => {
    const stop = new AbortController();
    const outcome = outcomeOf(["sleep", "60"], stop.signal);
    stop.abort();
    assert.equal((await outcome).status, undefined);
    assert.equal((await outcomeOf(["true"], stop.signal)).status, undefined);
  });
});

test("a file that cannot be read has no text", async () => {
  assert.match((await textOf("/proc/self/mountinfo")) ?? "", / - /);
  assert.equal(await textOf("/nonexistent"), undefined);
  assert.equal(await textOf("/proc"), undefined);
});

test("a knock says what came back: here nobody can listen, so the kernel refuses it", async () => {
  const [program = "", ...args] = knockCommand("127.0.0.1");
  const { status, stdout } = await outcomeOf([program, ...args]);
  assert.deepEqual([status, stdout], [0, "ECONNREFUSED\n"]);
});
