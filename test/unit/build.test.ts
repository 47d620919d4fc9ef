import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

for (const program of ["agent", "controller"]) {
  test(`the bundled ${program} runs outside of the tree, and prints its version`, async (t) => {
    const out = folder(t);
    const file = `${program}.mjs`;
    await bundle(join(root, `${program}/main.ts`), join(out, file));
    const { versions } = process;
    const version = `clusterset-${program} ${packageJson.version} (Node ${versions.node})\n`;
    assert.equal(output(out, file, "version"), version);
    // Of package.json, ours or that of a dependency, nothing else.
    assert.doesNotMatch(readFileSync(join(out, file), "utf8"), /["']?devDependencies["']?:/);
    if (program === "controller") return;
    const plan = JSON.parse(output(out, file, "plan", "--manifests", "."));
    assert.deepEqual(plan, { imports: [] });
  });
}

test("a bundle does not load undici, which it does not use", async (t) => {
  const out = folder(t);
  await bundle(join(root, "common/http.ts"), join(out, "http.mjs"));
  const loaded = 'import("./http.mjs").then(() => console.log(process.moduleLoadList.join("\\n")))';
  const modules = output(out, "--eval", loaded);
  assert.match(modules, /NativeModule http$/m);
  assert.doesNotMatch(modules, /undici/);
});

test("a bundle is ASCII, so that V8 stores it with one byte per character, and prints the same text", async (t) => {
  const out = folder(t);
  const source = '/** @license – */ export const [plain, made] = ["–", `→`];\n';
  writeFileSync(join(out, "source.mjs"), source);
  await bundle(join(out, "source.mjs"), join(out, "bundled.mjs"));
  assert.ok(readFileSync(join(out, "bundled.mjs")).every((byte) => byte < 0x80));
  const printed = 'import("./bundled.mjs").then(({ plain, made }) => console.log(plain + made))';
  assert.equal(output(out, "--eval", printed), "–→\n");
});

test("a build stops at a native part of netlink that is not the reviewed one", (t) => {
  const netlink = folder(t);
  for (const architecture of ["x64", "arm64"]) {
    const prebuilt = join(netlink, "prebuilds", `linux-${architecture}`);
    mkdirSync(prebuilt, { recursive: true });
    writeFileSync(join(prebuilt, "node.napi.node"), "other");
  }
  assert.throws(
    () => copyNative(folder(t), netlink),
    /linux-x64\/node\.napi\.node has SHA-256 d9298a10/,
  );
});

test("a bundle loads netlink's native part from its own directory", async (t) => {
  const out = folder(t);
  await bundle(join(root, "test/packages/open-netlink.ts"), join(out, "netlink.mjs"));
  assert.deepEqual(
    copyNative(out).map((path) => basename(path)),
    ["netlink-linux-x64.node", "netlink-linux-arm64.node"],
  );
  assert.equal(output(out, "netlink.mjs", "netfilter"), "open\n");
});

test("npm ci accepts package-lock.json: each package that it names is pinned by a digest", () => {
  // A registry may lack the binaries of some platforms: npm then writes their names into the lock, and nothing else of them.
  const packages: Record<string, { integrity?: string; optionalDependencies?: object }> =
    JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  for (const [path, { integrity, optionalDependencies = {} }] of Object.entries(packages)) {
    if (path !== "") assert.match(integrity ?? "", /^sha512-/, path);
    for (const name of Object.keys(optionalDependencies)) {
      const pinned =
        `${path}/node_modules/${name}` in packages || `node_modules/${name}` in packages;
      assert.ok(pinned, `delete the name ${name} from package-lock.json, at ${path}`);
    }
  }
});
