import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type InstallObject, titleOf } from "../../cli/install/change.ts";
import {
  COMPONENTS,
  cleanup,
  ofCleanup,
  programs,
  withComponents,
} from "../../cli/install/manifests.ts";
import { kustomizedWith } from "../../scripts/manifests/components.ts";
import { rendered } from "../../scripts/manifests/rendered.ts";
import { kubernetesCommand } from "./commands.ts";

const KUBECTL = kubernetesCommand("kubectl");

test("what kubectl clusterset applies is what kubectl kustomize makes of deploy", () => {
  const file = new URL("../../cli/install/manifests.json", import.meta.url);
  // JSON has no undefined fields.
  const made: unknown = JSON.parse(JSON.stringify(rendered(KUBECTL)));
  const advice = "run node scripts/manifests.ts --write after a change in deploy";
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), made, advice);
});

test("images are those of flags, and of the manifests otherwise", () => {
  const images = (of: Parameters<typeof programs>[1]) =>
    [...JSON.stringify(programs("mesh", of)).matchAll(/"image":"([^"]+)"/g)].map(
      ([, image]) => image,
    );
  const [controller, agent] = images({});
  assert.match(`${controller} ${agent}`, /^clusterset-controller:\S+ clusterset-agent:\S+$/);
  const other = "r.example/a@sha256:1";
  assert.deepEqual(images({ "clusterset-agent": other }), [controller, other]);
});

/** Their order aside, which a join chooses. */
function byTitle(objects: readonly InstallObject[]): Record<string, unknown> {
  return Object.fromEntries(
    objects.map((object) => [titleOf(object), JSON.parse(JSON.stringify(object)) as unknown]),
  );
}

/** Each by itself, and some that a platform may have together. */
const SETS: readonly (readonly string[])[] = [
  ...COMPONENTS.map((name) => [name]),
  ["k3s", "monitoring", "nftables"],
  ["openshift", "scrape", "preflight"],
  ["nftables", "net-raw", "preflight", "metrics"],
  ["metrics", "net-raw", "preflight", "nftables"],
  ["eks", "admission", "monitoring", "privileged"],
];

for (const mode of ["mesh", "hub"] as const) {
  test(`components of a join are what kubectl kustomize makes of them: ${mode}`, () => {
    for (const components of SETS) {
      const expected = byTitle(kustomizedWith(KUBECTL, `overlays/${mode}`, components));
      const found = byTitle(withComponents(programs(mode, {}), components));
      assert.deepEqual(found, expected, components.join());
    }
  });
}

test("nodes of privileged agents are cleaned by privileged pods", () => {
  assert.deepEqual(ofCleanup(["nftables"]), []);
  assert.deepEqual(
    byTitle(withComponents(cleanup({}), ofCleanup(["privileged"]))),
    byTitle(kustomizedWith(KUBECTL, "cleanup", ["cleanup-privileged"])),
  );
});
