import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { isVersion, versionFiles, withVersion } from "../../scripts/version/version-files.ts";

const root = join(import.meta.dirname, "../..");
const { version } = packageJson;
const read = (file: string) => readFileSync(join(root, file), "utf8");

test("another version replaces this one and the one after it, and nothing that only looks like it", () => {
  const text = "agent:0.1.0, then 0.1.1. 10.1.0.0/16 10.0.1.0 0.1.0.1 0.1.00 v0.1.0";
  const next = "agent:0.2.0, then 0.2.1. 10.1.0.0/16 10.0.1.0 0.1.0.1 0.1.00 v0.2.0";
  assert.equal(withVersion(text, "0.1.0", "0.2.0"), next);
});

test("in package.json and its lock, only the project's own version changes", () => {
  const text = '{\n  "name": "clusterset-proxy",\n  "version": "0.3.0", "netlink": "0.3.0"\n}';
  const own = '{\n  "name": "clusterset-proxy",\n  "version": "0.4.0", "netlink": "0.3.0"\n}';
  assert.equal(withVersion(text, "0.3.0", "0.4.0"), own);
  const changed = JSON.parse(withVersion(read("package-lock.json"), version, "9.9.9"));
  const before = JSON.parse(read("package-lock.json"));
  assert.equal(changed.packages[""].version, "9.9.9");
  before.version = "9.9.9";
  before.packages[""].version = "9.9.9";
  assert.deepEqual(changed, before);
});

test("every file of images, manifests, charts, guides and e2e tests that names this version is changed", () => {
  const changed = new Set(versionFiles(root));
  const all = globSync(
    ["Dockerfile*", "images/*/Dockerfile", "deploy/**/*.yaml", "docs/**/*.md", "test/e2e/**/*.ts"],
    { cwd: root },
  );
  const naming = all.filter((file) => withVersion(read(file), version, "9.9.9") !== read(file));
  assert.ok(naming.length > 8);
  // Designs tell of releases as they were.
  for (const file of naming) assert.ok(changed.has(file) || file.startsWith("docs/design/"), file);
});

test("a version is three numbers", () => {
  for (const good of ["0.2.0", "1.10.3"]) assert.ok(isVersion(good), good);
  for (const bad of ["", "v0.2.0", "0.2", "0.02.0", "0.2.0-rc.1"]) assert.ok(!isVersion(bad), bad);
});
