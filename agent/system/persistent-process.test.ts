import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CodedError } from "../../common/errors.ts";
import { PersistentProcess } from "./persistent-process.ts";

/** Answers each line, except that it exits at `die` and hangs at `hang`. */
const SCRIPT = `
while read -r line; do
  case "$line" in
    die) exit 3 ;;
    hang) exec sleep 60 ;;
    *) echo "$line" ;;
  esac
done
`;

describe("a persistent process", () => {
  const events: string[] = [];

  function persistent(): PersistentProcess {
    events.length = 0;
    const process: PersistentProcess = new PersistentProcess({
      argv: ["sh", "-c", SCRIPT],
      keep: [],
      onStart: () => events.push("start"),
      onLine: (line) => {
        events.push(line);
        process.answer();
      },
      errorOf: ({ how }) => new CodedError("CSP_EXEC_FAILED", how),
      onRespawn: () => events.push("respawn"),
    });
    return process;
  }

  async function run(program: PersistentProcess, line: string): Promise<void> {
    const answered = program.begin();
    program.write(`${line}\n`);
    await answered;
  }

  test("is started at the first transaction and runs all others until it is closed", async () => {
    const program = persistent();
    await program.close();
    await run(program, "a");
    await run(program, "b");
    await program.close();
    assert.deepEqual(events, ["start", "a", "b"]);
  });

  test("its end fails the transaction, and the next one starts another process", async () => {
    const program = persistent();
    await assert.rejects(run(program, "die"), { message: "exit status 3" });
    await run(program, "a");
    await program.close();
    assert.deepEqual(events, ["start", "respawn", "start", "a"]);
  });

  test("a killed process fails its own transaction only", async () => {
    const program = persistent();
    const answered = program.begin();
    program.write("hang\n");
    const killed = program.kill(new CodedError("CSP_EXEC_TIMEOUT", "no answer"));
    await program.kill(new CodedError("CSP_EXEC_TIMEOUT", "again"));
    const next = run(program, "a");
    await assert.rejects(answered, { message: "no answer" });
    await killed;
    await next;
    await program.close();
    assert.deepEqual(events, ["start", "respawn", "start", "a"]);
  });

  test("reports when it can read more", async () => {
    const slow: PersistentProcess = new PersistentProcess({
      argv: ["sh", "-c", "read -r line; cat > /dev/null; echo done"],
      keep: [],
      onLine: () => slow.answer(),
      errorOf: ({ how }) => new CodedError("CSP_EXEC_FAILED", how),
      onRespawn: () => undefined,
    });
    const answered = slow.begin();
    slow.write("x");
    assert.equal(slow.room === undefined, true);
    slow.write("x".repeat(1_000_000));
    const room = slow.room ?? assert.fail("it has room for everything");
    slow.write("\n");
    await room;
    await slow.close();
    await answered;
  });
});
