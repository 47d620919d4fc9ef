import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { usageIn, waitedForProcessor } from "./usage.ts";

test("A program's name can contain field separators", () => {
  const stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 200 0 0 150 50 7 3 20 0 1 0 1000 9 9";
  assert.deepEqual(usageIn(stat, "Name:\ta) b (c\nVmRSS:\t  2000 kB\nRssAnon:\t 1 kB\n"), {
    pid: 42,
    megabytes: 2.048,
    cpuSeconds: 2.1,
    systemSeconds: 0.53,
    started: 1000,
  });
});

test("The kernel's figures of this process are Node's", () => {
  const read = (file: string) => readFileSync(`/proc/self/${file}`, "latin1");
  const { megabytes, cpuSeconds } = usageIn(read("stat"), read("status"));
  const resident = process.memoryUsage.rss() / 1e6;
  assert.ok(Math.abs(megabytes - resident) < resident / 4, `${megabytes} of ${resident}`);
  const { user, system } = process.cpuUsage();
  const seconds = (user + system) / 1e6;
  assert.ok(cpuSeconds > 0 && Math.abs(cpuSeconds - seconds) < 0.1 + seconds, `${cpuSeconds}`);
});

test("A thread that shares its processor waits for it, and one that sleeps does not", {
  skip: Number.isNaN(waitedForProcessor(process.pid)) && "the kernel does not count it",
}, async () => {
  const spinning = () => spawn("taskset", ["-c", "0", process.execPath, "-e", "for (;;);"]);
  const both = [spinning(), spinning()];
  const sleeper = spawn("sleep", ["60"]);
  try {
    const waited = ({ pid = 0 }: ChildProcess) => waitedForProcessor(pid);
    const untilBothWaited = async (ms: number) => {
      while (both.some((one) => !(waited(one) > ms))) await sleep(20);
    };
    // It waits while it starts, and then no more: its state is S.
    const isAsleep = () =>
      readFileSync(`/proc/${sleeper.pid}/stat`, "latin1").includes("(sleep) S");
    while (!isAsleep()) await sleep(20);
    await untilBothWaited(100);
    const before = waited(sleeper);
    await untilBothWaited(200);
    assert.equal(waited(sleeper), before);
  } finally {
    for (const one of [...both, sleeper]) one.kill("SIGKILL");
  }
});
