import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { bundle, copyNative } from "../../scripts/build/bundle.ts";

// The agent's bundle with Node for arm64, in QEMU's user emulation: it emulates the processor, and passes system calls to this
// machine's kernel. So this shows the programs of an arm64 image, not the kernel of an arm64 node.

const ROOT = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "clusterset-proxy-arm64-"));
let emulator = "";
before(async () => {
  emulator = spawnSync(join(import.meta.dirname, "arm64"), { encoding: "utf8" }).stdout.trim();
  assert.notEqual(emulator, "", "test/packages/arm64 failed");
  await bundle(join(ROOT, "agent/main.ts"), join(folder, "agent.mjs"));
  await bundle(join(ROOT, "test/packages/open-netlink.ts"), join(folder, "netlink.mjs"));
  copyNative(folder);
  cpSync(join(ROOT, "test/scenarios/manifests"), join(folder, "manifests"), { recursive: true });
});
after(() => rmSync(folder, { recursive: true }));

/** Runs Node with these arguments; returns what it printed. Throws if it fails. */
function output(program: string, argv: readonly string[], env: NodeJS.ProcessEnv = {}): string {
  const options = { encoding: "utf8", cwd: folder, env: { ...process.env, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(program, [...argv], options);
  assert.equal(status, 0, stderr);
  return stdout;
}

function arm64(...argv: readonly string[]): string {
  const node = [`${emulator}/bin/node`, ...argv];
  return output(`${emulator}/bin/qemu-aarch64-static`, node, { QEMU_LD_PREFIX: emulator });
}

test("the agent starts on arm64 and prints its version", () => {
  assert.equal(arm64("-p", "process.arch"), "arm64\n");
  const version = `clusterset-agent ${packageJson.version} (Node ${process.versions.node})\n`;
  assert.equal(arm64("agent.mjs", "version"), version);
});

test("it renders the same rules as on x86-64", () => {
  const flags = ["--manifests", "manifests", "--cluster-id", "cluster-1", "--region", "eu"];
  const argv = ["agent.mjs", "render", ...flags];
  const rules = output(process.execPath, argv);
  assert.match(rules, /CSP-SVC-/);
  assert.equal(arm64(...argv), rules);
});

test("netlink's native part for arm64 loads, and opens a socket", () => {
  // QEMU's user emulation knows netlink's protocol for routes, not the one of netfilter.
  assert.equal(arm64("netlink.mjs", "route"), "open\n");
});
