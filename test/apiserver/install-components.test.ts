import assert from "node:assert/strict";
import { test } from "node:test";
import { COMPONENTS, ofCleanup, withComponents } from "../../cli/install/components.ts";
import type { InstallObject } from "../../cli/install/install-object.ts";
import { titleOf } from "../../cli/install/install-object.ts";
import { cleanup, programs } from "../../cli/install/manifests.ts";
import { kustomizedWith } from "../../scripts/manifests/components.ts";
import { kubernetesCommand } from "./commands.ts";

const KUBECTL = kubernetesCommand("kubectl");

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
      assert.deepEqual(
        byTitle(withComponents(programs(mode, {}), components)),
        byTitle(kustomizedWith(KUBECTL, `overlays/${mode}`, components)),
        components.join(),
      );
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
