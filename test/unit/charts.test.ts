import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import manifests from "../../cli/install/manifests.json" with { type: "json" };
import packageJson from "../../package.json" with { type: "json" };
import { chartFiles } from "../../scripts/charts/chart-files.ts";
import { templateText } from "../../scripts/charts/template.ts";
import { sourcesDigest } from "../../scripts/manifests/sources.ts";

// Files that are made of others are up to date: deploy/charts, and the manifests that the plugin carries. What Helm renders, test/packages shows.

const root = join(import.meta.dirname, "../..");
const template = { source: "a.yaml", path: "a.yaml" };

test("templates, copies and the schema of charts are those of their sources (node scripts/charts.ts --write)", () => {
  const files = chartFiles();
  assert.ok(files.size > 15);
  for (const [file, text] of files) {
    assert.equal(readFileSync(join(root, file), "utf8"), text, `${file} is behind its source`);
  }
});

test("the manifests that kubectl clusterset carries are made of these files of deploy", () => {
  const advice = "run node scripts/manifests.ts --write after a change in deploy";
  assert.equal(manifests.sources, sourcesDigest(), advice);
});

test("charts have the version of the release", () => {
  for (const chart of ["clusterset-proxy", "clusterset-crds"]) {
    const text = readFileSync(join(root, `deploy/charts/${chart}/Chart.yaml`), "utf8");
    assert.match(text, new RegExp(`^version: ${packageJson.version}$`, "m"));
    assert.match(text, new RegExp(`^appVersion: ${packageJson.version}$`, "m"));
  }
});

test("an edit whose text is gone, or is there twice, is an error that names both", () => {
  const edits = [{ replace: "image: x", by: "image: y" }];
  assert.throws(() => templateText("image: z\n", { ...template, edits }), {
    message: "a.yaml contains 0 times, not 1: image: x",
  });
  assert.throws(() => templateText("image: x\nimage: x\n", { ...template, edits }), /2 times/);
});

test("what Helm would evaluate in a manifest is text", () => {
  const text = templateText("a: '{{ b }}'\n", template);
  assert.ok(text.endsWith(`\na: '{{ "{{" }} b }}'\n`), text);
});

test("an object is in the release's namespace, and has the chart's labels beside its own", () => {
  const labels = '    {{- include "clusterset-proxy.labels" $ | nindent 4 }}\n';
  const text = (metadata: string) => templateText(`metadata:\n${metadata}spec: {}\n`, template);
  const own = `  name: a\n  namespace: {{ .Release.Namespace | quote }}\n  labels:\n${labels}spec: {}\n`;
  assert.ok(text("  name: a\n  namespace: clusterset-proxy\n").endsWith(own));
  assert.ok(text("  labels:\n    b: c\n").endsWith(`  labels:\n${labels}    b: c\nspec: {}\n`));
  const flow = "metadata: { name: a, namespace: clusterset-proxy }\nspec: {}\n";
  const block = "metadata:\n  name: a\n  namespace: clusterset-proxy\nspec: {}\n";
  assert.equal(templateText(flow, template), templateText(block, template));
  assert.ok(text("  labels: { b: c }\n").endsWith(`  labels:\n    b: c\n${labels}spec: {}\n`));
});
