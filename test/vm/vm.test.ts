import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { builtCommands, runInGuest } from "./guest-tests.ts";
import { REPOSITORY } from "./run-disk.ts";

/** One unloads the kernel's modules, which nobody may be using; and whoever is beside a storm makes it weaker, and waits. */
const ALONE = ["test/ipvs/pod.test.ts", "test/ipvs/storm.test.ts"];

/** The long ones: who begins last must not be alone for long. */
const FIRST = ["test/ipvs/packets.test.ts", "test/ipvs/faults.test.ts"];

/** What needs another kernel than this machine's. */
const FILES = globSync("test/ipvs/**/*.test.ts", { cwd: REPOSITORY })
  .filter((file) => !ALONE.includes(file) && !FIRST.includes(file))
  .sort();

test("on Debian's stock kernel, in a virtual machine", { concurrency: true }, async (t) => {
  const { skipped } = await runInGuest(t, {
    files: [...FIRST, ...FILES],
    alone: ALONE,
    commands: builtCommands(["kube-proxy"]),
  });
  // There are reasons to skip, but what a kernel lacks is none: this one was chosen for what it has.
  assert.deepEqual(
    skipped.filter((why) => /this kernel/.test(why)),
    [],
  );
});
