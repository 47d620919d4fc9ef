import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { RestoreProcess, type RestoreTimeouts } from "./apply.ts";

const SHORT = { base: 200, perMegabyte: 0 };
const TX = "*nat\n:CSP-A - [0:0]\nCOMMIT\n";

/**
 * Stands in for iptables-restore: echoes comments as `-v` makes it, writes down its arguments and its input,
 * and does what a comment in its input says.
 */
const STAND_IN = `
echo "start $*" >> "$1"
while read -r line; do
  echo "$line" >> "$1"
  case "$line" in
    "# refuse") echo "line 2 failed: no chain by that name" >&2; exit 1 ;;
    "# locked") exec flock "$1.lock" true ;;
    "# starved") echo "line 2: RULE_APPEND failed (Cannot allocate memory)" >&2; exit 4 ;;
    "# slow") sleep 0.3; echo "$line" ;;
    "# hang") exec sleep 60 ;;
    "# stray") echo "# ack 1"; echo "# ack 99"; echo "CSP-A" ;;
    "#"*) echo "$line" ;;
  esac
done
echo "end" >> "$1"
`;

describe("a long-lived iptables-restore", () => {
  let directory: string;
  let log: string;
  let respawns: number;
  let restore: RestoreProcess;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "csp-restore-"));
    writeFileSync(join(directory, "stand-in"), STAND_IN);
  });
  after(() => rmSync(directory, { recursive: true }));
  beforeEach((context) => {
    log = join(directory, `${context.name.replace(/\W+/g, "-")}.log`);
    writeFileSync(log, "");
    respawns = 0;
    restore = standIn({ base: 20_000, perMegabyte: 0 });
  });
  afterEach(() => restore.close());

  function standIn(timeouts: Partial<RestoreTimeouts>): RestoreProcess {
    const program = ["sh", join(directory, "stand-in"), log] as const;
    return new RestoreProcess(program, () => respawns++, [], timeouts);
  }

  /** The input of the stand-in, with its starts and its end. */
  function told(): string[] {
    return readFileSync(log, "utf8").trimEnd().split("\n");
  }

  function starts(): number {
    return told().filter((line) => line.startsWith("start")).length;
  }

  test("runs one transaction after the other in one process, without flushing", async () => {
    await restore.run(TX);
    await restore.run(TX);
    await restore.close();
    const input = [...TX.trimEnd().split("\n")];
    assert.deepEqual(told(), [
      `start ${log} --noflush -v -w`,
      ...input,
      "# ack 1",
      ...input,
      "# ack 2",
      "end",
    ]);
    assert.equal(respawns, 0);
  });

  test("can be started ahead of its first transaction, once", async () => {
    restore.warm();
    restore.warm();
    await restore.run(TX);
    assert.equal(starts(), 1);
  });

  test("rejects with the tool's last message when it ends, and the next transaction starts another", async () => {
    await assert.rejects(restore.run("# refuse\n"), {
      code: "CSP_RESTORE_EXITED",
      message: /exit status 1: line 2 failed: no chain by that name$/,
    });
    assert.equal(respawns, 1);
    await restore.run(TX);
    assert.equal(starts(), 2);
    assert.equal(respawns, 1);
  });

  test("that does not get the lock is killed and reported, and the next transaction tries again", async () => {
    const script = 'exec 9>"$0"; flock 9; echo held; exec sleep 60';
    const holder = spawn("sh", ["-c", script, `${log}.lock`]);
    await once(holder.stdout, "data");
    restore = standIn({ lock: 50 });
    await assert.rejects(restore.run("# locked\n"), { code: "CSP_LOCK_HELD" });
    holder.kill();
    await restore.run(TX);
    assert.equal(starts(), 2);
  });

  test("that has the lock is not killed because of the lock", async () => {
    restore = standIn({ lock: 20 });
    await restore.run("# slow\n");
    assert.deepEqual([starts(), respawns], [1, 0]);
  });

  test("that had no memory for a rule has not rejected it", async () => {
    await assert.rejects(restore.run("# starved\n"), { code: "CSP_EXEC_STARVED" });
    await restore.run(TX);
    assert.equal(starts(), 2);
  });

  test("has answered in time if its answer is there, even if it was read late", async () => {
    restore = standIn(SHORT);
    await restore.run(TX);
    const ran = restore.run(TX);
    // As after SIGSTOP and SIGCONT: all events have happened, and all timers are due.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    await ran;
    await turn();
    assert.equal(respawns, 0);
  });

  test("fails a transaction only when its process is gone", async () => {
    const script = `echo $$ > ${log}; exec sleep 60`;
    restore = new RestoreProcess(["sh", "-c", script], () => respawns++, [], SHORT);
    await assert.rejects(restore.run(TX), { code: "CSP_RESTORE_TIMEOUT" });
    const pid = Number(told()[0]);
    assert.ok(pid > 0);
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  });

  test("accepts only the acknowledgement of the present transaction", async () => {
    await restore.run(TX);
    await assert.rejects(restore.run("# stray\n# refuse\n"), { code: "CSP_RESTORE_EXITED" });
  });

  test("is replaced without a failed transaction when it died between two", async () => {
    const died = Promise.withResolvers<void>();
    const once = join(directory, "once");
    // The first process ends at once, the second stands in.
    const script = `[ -e ${once} ] && exec sh ${join(directory, "stand-in")} ${log}; touch ${once}`;
    restore = new RestoreProcess(["sh", "-c", script], () => died.resolve());
    restore.warm();
    await died.promise;
    await restore.run(TX);
    assert.equal(starts(), 1);
  });

  test("that is not installed is reported as missing", async () => {
    restore = new RestoreProcess(["/nonexistent/iptables-restore"], () => respawns++);
    await assert.rejects(restore.run(TX), {
      code: "CSP_EXEC_MISSING",
      message: /^\/nonexistent\/iptables-restore: /,
    });
    assert.equal(respawns, 1);
  });

  test("is ended after a large transaction, which is no failure", async () => {
    // Not the stand-in: a shell reads byte by byte.
    const echo = `echo start >> ${log}; cat; echo end >> ${log}`;
    restore = new RestoreProcess(["sh", "-c", echo], () => respawns++);
    await restore.run(`# ${"x".repeat(2_000_001)}\n`);
    assert.deepEqual(told(), ["start", "end"]);
    await restore.run(TX);
    await restore.run(TX);
    assert.equal(starts(), 2);
    assert.equal(respawns, 0);
  });

  test("that does not end when its input does is killed", async () => {
    restore = new RestoreProcess(["sh", "-c", "exec sleep 60"], () => respawns++, [], SHORT);
    restore.warm();
    await restore.close();
    assert.equal(respawns, 0);
  });

  test("gets a transaction piece by piece, no faster than it reads it", async () => {
    const unread: number[] = [];
    let made = 0;
    function* pieces(): Generator<string> {
      for (let i = 0; i < 50; i++) {
        made += 100_000;
        unread.push(made - statSync(log).size);
        yield `${"x".repeat(99_999)}\n`;
      }
    }
    restore = new RestoreProcess(["sh", "-c", `tee ${log}`], () => respawns++);
    await restore.run(pieces());
    assert.ok(Math.max(...unread) < 1_000_000, `${Math.max(...unread)}`);
    await restore.close();
    assert.equal(statSync(log).size, 50 * 100_000 + "# ack 1\n".length);
  });

  test("is killed after half a transaction, so that the next is not read as its rest", async () => {
    function* pieces(): Generator<string> {
      yield "*nat\n";
      yield ":CSP-HALF - [0:0]\n";
      throw new Error("cannot be made");
    }
    await assert.rejects(restore.run(pieces()), { message: "cannot be made" });
    await restore.run(TX);
    await restore.close();
    assert.deepEqual(told().slice(-6), [
      ...told().slice(-6, -5),
      ...TX.trimEnd().split("\n"),
      "# ack 2",
      "end",
    ]);
    assert.ok(!told().includes("# ack 1"));
  });

  test("that is killed has not rejected anything", async () => {
    restore = new RestoreProcess(["sh", "-c", "kill -9 $$"], () => respawns++);
    await assert.rejects(restore.run(TX), { code: "CSP_RESTORE_KILLED" });
  });
});
