import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { programs } from "../../cli/install/manifests.ts";
import { rendered } from "../../scripts/manifests/rendered.ts";
import { kubernetesCommand } from "./commands.ts";

test("what kubectl clusterset applies is what kubectl kustomize makes of deploy", () => {
  const file = new URL("../../cli/install/manifests.json", import.meta.url);
  assert.deepEqual(
    JSON.parse(readFileSync(file, "utf8")),
    // JSON has no undefined fields.
    JSON.parse(JSON.stringify(rendered(kubernetesCommand("kubectl")))),
    "run node scripts/manifests.ts --write after a change in deploy",
  );
});

test("images are those of flags, and of the manifests otherwise", () => {
  const images = (of: Parameters<typeof programs>[1]) =>
    [...JSON.stringify(programs("mesh", of)).matchAll(/"image":"([^"]+)"/g)].map(
      ([, image]) => image,
    );
  const [controller, agent] = images({});
  assert.match(`${controller} ${agent}`, /^clusterset-controller:\S+ clusterset-agent:\S+$/);
  assert.deepEqual(images({ "clusterset-agent": "r.example/a@sha256:1" }), [
    controller,
    "r.example/a@sha256:1",
  ]);
});
