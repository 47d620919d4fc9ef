import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { comparable, helmTemplate, kustomize, objectsOf, output } from "./rendered.ts";

// What "make release" makes, but for images, which take registries.

const ROOT = join(import.meta.dirname, "../..");
const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), "clusterset-proxy-release-")));
const [first = "", second = ""] = folders;
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

test("two runs make the same files, whenever they run, and SHA256SUMS has all of them", () => {
  for (const folder of folders) output(process.execPath, [`${ROOT}/scripts/release.ts`, folder]);
  const sums = readFileSync(join(first, "SHA256SUMS"), "utf8");
  assert.equal(readFileSync(join(second, "SHA256SUMS"), "utf8"), sums);
  const listed = [...sums.matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)].map(([, name = ""]) => name);
  const others = readdirSync(first).filter((name) => name !== "SHA256SUMS");
  assert.deepEqual(listed, others.sort());
  assert.ok(listed.length >= 14);
  // As the guide for users says.
  const check = `cd ${first} && sha256sum --check --strict SHA256SUMS`;
  assert.match(output("sh", ["-c", check]), /^clusterset-agent\.mjs: OK$/m);
});

test("manifests are those of deploy/, and charts render from their archives", () => {
  for (const overlay of ["mesh", "hub", "agents"]) {
    const text = readFileSync(join(first, `install-${overlay}.yaml`), "utf8");
    const rendered = kustomize(join(ROOT, "deploy/overlays", overlay));
    assert.deepEqual(comparable(objectsOf(text)), comparable(rendered));
  }
  for (const chart of ["clusterset-proxy", "clusterset-crds"]) {
    const archive = readdirSync(first).find((name) => name.startsWith(`${chart}-`));
    const argv = ["template", "csp", join(first, archive ?? ""), "-n", "clusterset-proxy"];
    const text = output(kubernetesCommand("helm"), [...argv, "--kube-version", "1.36.0"]);
    assert.deepEqual(comparable(objectsOf(text)), comparable(helmTemplate(chart)));
  }
});
