import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { bundle, copyNative } from "../../scripts/build/bundle.ts";

const root = join(import.meta.dirname, "../..");

/** A folder of its own, far from the tree and its node_modules. */
function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "clusterset-proxy-build-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Runs a bundle from the folder that it is in; gives what it printed, if it ended well. */
function output(cwd: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("the bundled agent runs far from the tree, and knows its version", async (t) => {
  const out = folder(t);
  await bundle(join(root, "agent/main.ts"), join(out, "agent.mjs"));
  const version = `clusterset-agent ${packageJson.version} (Node ${process.versions.node})\n`;
  assert.equal(output(out, "agent.mjs", "version"), version);
  // Of package.json, ours or that of a dependency, nothing else.
  assert.doesNotMatch(readFileSync(join(out, "agent.mjs"), "utf8"), /["']?devDependencies["']?:/);
  assert.deepEqual(JSON.parse(output(out, "agent.mjs", "plan", "--manifests", ".")), {
    imports: [],
  });
});

test("a bundle does not load the part of Node that none of it uses, undici", async (t) => {
  const out = folder(t);
  await bundle(join(root, "common/http.ts"), join(out, "http.mjs"));
  const loaded = 'import("./http.mjs").then(() => console.log(process.moduleLoadList.join("\\n")))';
  const modules = output(out, "--eval", loaded);
  assert.match(modules, /NativeModule http$/m);
  assert.doesNotMatch(modules, /undici/);
});

test("a bundle is ASCII, so that V8 keeps its text in one byte a character, and says what it said", async (t) => {
  const out = folder(t);
  const source = '/** @license – */ export const [plain, made] = ["–", `→`];\n';
  writeFileSync(join(out, "source.mjs"), source);
  await bundle(join(out, "source.mjs"), join(out, "bundled.mjs"));
  assert.ok(readFileSync(join(out, "bundled.mjs")).every((byte) => byte < 0x80));
  const printed = 'import("./bundled.mjs").then(({ plain, made }) => console.log(plain + made))';
  assert.equal(output(out, "--eval", printed), "–→\n");
});

test("the bundled controller runs far from the tree, and knows its version", async (t) => {
  const out = folder(t);
  await bundle(join(root, "controller/main.ts"), join(out, "controller.mjs"));
  const version = `clusterset-controller ${packageJson.version} (Node ${process.versions.node})\n`;
  assert.equal(output(out, "controller.mjs", "version"), version);
});

test("a bundle finds netlink's native part beside itself", async (t) => {
  const out = folder(t);
  await bundle(join(root, "test/unit/load-netlink.ts"), join(out, "netlink.mjs"));
  assert.deepEqual(
    copyNative(out).map((path) => basename(path)),
    ["netlink-linux-x64.node", "netlink-linux-arm64.node"],
  );
  assert.equal(output(out, "netlink.mjs"), "open\n");
});
