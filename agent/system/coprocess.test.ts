import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Coprocess } from "./coprocess.ts";

describe("a coprocess", () => {
  test("answers in lines to what it is told, for as long as its input is open", async () => {
    const heard: string[] = [];
    let answered = (): void => undefined;
    const cat = new Coprocess(["cat"], (line) => {
      heard.push(line);
      answered();
    });
    for (const word of ["one", "two"]) {
      const answer = new Promise<void>((resolve) => {
        answered = resolve;
      });
      cat.write(`${word}\n`);
      await answer;
    }
    cat.finish();
    const how = "exit status 0";
    assert.deepEqual(await cat.ended, { how, killed: false, stderr: "" });
    assert.deepEqual(heard, ["one", "two"]);
  });

  test("ends with its status and its last words", async () => {
    const failing = new Coprocess(["sh", "-c", "seq 10000 >&2; echo no >&2; exit 3"], () => {});
    const { how, unstarted, stderr } = await failing.ended;
    assert.deepEqual([how, unstarted], ["exit status 3", undefined]);
    assert.match(stderr, /\nno$/);
    assert.ok(stderr.length <= 2000);
  });

  test("can be killed", async () => {
    const sleeping = new Coprocess(["sleep", "60"], () => {});
    sleeping.kill();
    const { how, killed } = await sleeping.ended;
    assert.deepEqual([how, killed], ["SIGKILL", true]);
  });

  test("that does not exist says so, also if another program was to start it", async () => {
    for (const argv of [["/nonexistent/x"], ["env", "/nonexistent/x"]] as const) {
      const [program, ...args] = argv;
      const missing = new Coprocess([program, ...args], () => {});
      missing.write("nobody reads this\n");
      assert.equal((await missing.ended).unstarted, "CSP_EXEC_MISSING");
    }
  });

  test("may be told something after it has died", async () => {
    const dead = new Coprocess(["true"], () => {});
    await dead.ended;
    dead.write("x".repeat(1e6));
    dead.finish();
    dead.kill();
  });

  test("is out of reach of a Ctrl-C that is meant for the agent", async () => {
    // The fifth field of /proc/PID/stat is the process group.
    const lines: string[] = [];
    const child = new Coprocess(["cut", "-d ", "-f1,5", "/proc/self/stat"], (line) =>
      lines.push(line),
    );
    await child.ended;
    const [pid, group] = (lines[0] ?? "").split(" ");
    assert.equal(group, pid);
  });

  test("says when it has room for more than it has read", async () => {
    const script = "read -r line; cat > /dev/null";
    const slow = new Coprocess(["sh", "-c", script], () => {});
    slow.write("x");
    assert.equal(slow.room === undefined, true);
    slow.write("x".repeat(1_000_000));
    const room = slow.room ?? assert.fail("it has room for everything");
    slow.write("\n");
    await room;
    slow.finish();
    assert.equal((await slow.ended).how, "exit status 0");
  });
});
