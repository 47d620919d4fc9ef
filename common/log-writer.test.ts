import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { forMany } from "../test/generators/for-all.ts";
import { LogWriter } from "./log-writer.ts";

/** A descriptor that takes what it has room for, or fails. */
class Descriptor {
  text = "";
  /** Bytes that it takes before it fails. */
  room = Number.POSITIVE_INFINITY;
  fault = "EAGAIN";
  tries = 0;
  readonly due: (() => void)[] = [];
  readonly losses: string[] = [];
  readonly writer: LogWriter = new LogWriter({
    write: (bytes) => {
      this.tries++;
      if (this.room === 0) throw Object.assign(new Error(this.fault), { code: this.fault });
      const taken = Math.min(bytes.length, this.room);
      this.text += Buffer.from(bytes.subarray(0, taken)).toString();
      this.room -= taken;
      return taken;
    },
    later: (run) => this.due.push(run),
    lost: (lines, why) => {
      this.losses.push(`${lines} ${why}`);
      this.writer.write(`lost ${lines} ${why}\n`);
    },
  });

  wait(): void {
    for (const run of this.due.splice(0)) run();
  }
}

describe("a log", () => {
  test("is written line by line, each before the call returns", () => {
    const to = new Descriptor();
    to.writer.write("one\n");
    assert.equal(to.text, "one\n");
    to.writer.write("two\n");
    assert.equal(to.text, "one\ntwo\n");
  });

  test("with a slow reader is buffered, and arrives complete and in order, without a further line", () => {
    const to = new Descriptor();
    to.room = 6;
    for (const line of ["one\n", "two\n", "three\n"]) to.writer.write(line);
    assert.equal(to.text, "one\ntw");
    to.room = 3;
    to.wait();
    assert.equal(to.text, "one\ntwo\nt");
    to.room = 100;
    to.wait();
    assert.equal(to.text, "one\ntwo\nthree\n");
    assert.deepEqual(to.losses, []);
    assert.equal(to.due.length, 0);
  });

  test("that has no reader is not retried for every line, and uses bounded memory", () => {
    const to = new Descriptor();
    to.room = 0;
    for (let i = 0; i < 10_000; i++) to.writer.write(`${"x".repeat(99)}\n`);
    assert.equal(to.tries, 1);
    assert.equal(to.due.length, 1);
    to.room = Number.POSITIVE_INFINITY;
    to.wait();
    const kept = to.text.match(/x\n/g)?.length ?? 0;
    assert.ok(kept > 2000 && kept < 3000, `${kept}`);
    assert.deepEqual(to.losses, [`${10_000 - kept} log reader too slow`]);
    assert.match(to.text, /\nlost \d+ log reader too slow\n$/);
  });

  test("on a full disk loses lines, reports their number once there is space, and leaves no partial line", () => {
    const to = new Descriptor();
    to.fault = "ENOSPC";
    to.room = 6;
    for (const line of ["one\n", "two\n", "three\n"]) to.writer.write(line);
    assert.equal(to.text, "one\ntw");
    assert.equal(to.due.length, 0);
    to.room = 100;
    to.writer.write("four\n");
    assert.equal(to.text, "one\ntw\nfour\nlost 2 ENOSPC\n");
    to.writer.write("five\n");
    assert.equal(to.text, "one\ntw\nfour\nlost 2 ENOSPC\nfive\n");
  });

  test("continues to count if the report of losses is lost, too", () => {
    const to = new Descriptor();
    to.fault = "EPIPE";
    to.room = 0;
    for (const line of ["one\n", "two\n"]) to.writer.write(line);
    to.room = "three\n".length;
    to.writer.write("three\n");
    to.room = 100;
    to.writer.write("four\n");
    assert.equal(to.text, "three\nfour\nlost 2 EPIPE\n");
  });

  test("never throws, keeps the order, completes partial lines and reports losses, whatever the descriptor does", async () => {
    const step = fc.oneof(
      fc.record({ length: fc.nat(12) }),
      fc.record({ room: fc.nat(30), fault: fc.constantFrom("EAGAIN", "ENOSPC", "EPIPE", "EIO") }),
      fc.constant("wait" as const),
    );
    await forMany(1000, [fc.array(step, { maxLength: 60 })], (steps) => {
      const to = new Descriptor();
      const said: string[] = [];
      const say = (length: number) => {
        const line = `${said.length} ${"x".repeat(length)}.`;
        said.push(line);
        to.writer.write(`${line}\n`);
      };
      for (const one of steps) {
        if (one === "wait") to.wait();
        else if ("length" in one) say(one.length);
        else Object.assign(to, one);
      }
      to.room = Number.POSITIVE_INFINITY;
      to.wait();
      say(1);
      assert.ok(to.text.endsWith("\n"));
      const lines = to.text.split("\n").filter((line) => /^\d+ x*\.$/.test(line));
      const kept = said.filter((line) => lines.includes(line));
      assert.deepEqual(lines, kept);
      assert.equal(lines.at(-1), said.at(-1));
      if (lines.length < said.length) assert.match(to.text, /^lost \d+ [a-zA-Z ]+$/m);
    });
  });
});

test("a process that exits after many lines waits until a slow reader has them all", async () => {
  const program = fileURLToPath(new URL("../test/stages/programs/chatty.ts", import.meta.url));
  const chatty = spawn(process.execPath, [program], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(chatty, "close");
  await once(chatty.stderr, "readable");
  await sleep(50);
  let text = "";
  chatty.stderr.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  assert.deepEqual(await ended, [3, null]);
  const lines = text.trimEnd().split("\n");
  const numbers = lines.map((line) => JSON.parse(line).line);
  assert.deepEqual(
    numbers,
    Array.from({ length: 1500 }, (_, i) => i + 1),
  );
});
