import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { builtCommands, runInGuest } from "./guest-tests.ts";
import { REPOSITORY } from "./run-disk.ts";

/** One unloads kernel modules, which other tests use; a storm needs both processors. */
const ALONE = ["test/ipvs/pod.test.ts", "test/backends/storm.test.ts"];

/** The longest files begin first, so that no file runs alone for long. */
const FIRST = ["test/backends/packets.test.ts", "test/ipvs/faults.test.ts"];

/** The files that need another kernel than this machine's. */
const FILES = globSync("test/{ipvs,backends}/**/*.test.ts", { cwd: REPOSITORY })
  .filter((file) => !ALONE.includes(file) && !FIRST.includes(file))
  .sort();

test("on Debian's stock kernel, in a virtual machine", { concurrency: true }, async (t) => {
  const { skipped } = await runInGuest(t, {
    files: [...FIRST, ...FILES],
    alone: ALONE,
    commands: builtCommands(["kube-proxy"]),
  });
  // This kernel has everything that tests need.
  assert.deepEqual(
    skipped.filter((why) => /this kernel/.test(why)),
    [],
  );
});
