import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { test } from "node:test";
import { builtCommands, runInGuest } from "./guest-tests.ts";
import { REPOSITORY } from "./run-disk.ts";

/** What needs another kernel than this machine's, and once again what iptables makes of the table of packets. */
const FILES = [
  ...globSync("test/ipvs/**/*.test.ts", { cwd: REPOSITORY }).sort(),
  "test/kernel/packets-nft.test.ts",
];

test("on Debian's stock kernel, in a virtual machine", async (t) => {
  const { skipped } = await runInGuest(t, {
    files: FILES,
    commands: builtCommands(["kube-proxy"]),
  });
  // There are reasons to skip, but what a kernel lacks is none: this one was chosen for what it has.
  assert.deepEqual(
    skipped.filter((why) => /this kernel/.test(why)),
    [],
  );
});
