import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { kubernetesCommand } from "./commands.ts";
import { ControlPlane } from "./control-plane.ts";

// deploy/crds/install, with kubectl, on a real API server.

const CRDS = new URL("../../deploy/crds/", import.meta.url).pathname;
const IMPORTS = "serviceimports.multicluster.x-k8s.io";
const [RELEASE, REVISION] = [
  "multicluster.x-k8s.io/release-version",
  "multicluster.x-k8s.io/crd-schema-revision",
];

let plane: ControlPlane;
let env: NodeJS.ProcessEnv;
before(async () => {
  plane = await ControlPlane.start({});
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  env = {
    ...process.env,
    KUBECONFIG: kubeconfig,
    KUBECACHEDIR: `${plane.directory}/kubectl-cache`,
    PATH: `${dirname(kubernetesCommand("kubectl"))}:${process.env.PATH}`,
  };
});
after(() => plane.remove());
beforeEach(() => {
  install();
});

function install(directory = CRDS): string {
  const context = execFileSync("kubectl", ["config", "current-context"], { env, encoding: "utf8" });
  const { status, stdout, stderr } = spawnSync(`${directory}/install`, [context.trim()], {
    env,
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: IMPORTS },
};

/** Gives the installed CRD other labels, and a mark that shows whether it was replaced. */
async function relabel(release: string | null, revision: string | null): Promise<void> {
  const metadata = { labels: { [RELEASE]: release, [REVISION]: revision } };
  await plane.admin.patch(crd, { metadata, spec: { names: { categories: ["theirs"] } } });
}

async function installed(): Promise<{ release: string; revision: string; isOurs: boolean }> {
  const { metadata, spec } = await plane.admin.get(crd);
  const labels = (metadata as { labels?: Record<string, string> }).labels ?? {};
  const { categories } = (spec as { names: { categories: readonly string[] } }).names;
  const isOurs = categories.join() === "multicluster";
  return { release: labels[RELEASE] ?? "", revision: labels[REVISION] ?? "", isOurs };
}

test("CRDs have the labels of mcs-api's release, and are installed with them", async () => {
  assert.deepEqual(await installed(), { release: "v0.5.2", revision: "0", isOurs: true });
});

for (const [release, revision] of [
  ["v0.5.2", "1"],
  ["v0.6.0", "0"],
  ["v0.10.0", "0"],
] as const) {
  test(`a CRD of ${release}, revision ${revision}, stays`, async () => {
    await relabel(release, revision);
    assert.match(install(), new RegExp(`${IMPORTS} stays: ${release} ${revision} is newer`));
    assert.deepEqual(await installed(), { release, revision, isOurs: false });
    await relabel(null, null);
  });
}

for (const [release, revision] of [
  [null, null],
  ["v0.3.0", "1"],
  ["v0.5.1", "9"],
] as const) {
  test(`a CRD of ${release ?? "a release without labels"} is replaced`, async () => {
    await relabel(release, revision);
    assert.doesNotMatch(install(), /stays/);
    assert.deepEqual(await installed(), { release: "v0.5.2", revision: "0", isOurs: true });
  });
}

test("an older release leaves the CRDs of a newer one", async () => {
  const older = join(plane.directory, "older-crds");
  cpSync(CRDS, older, { recursive: true });
  const file = join(older, "serviceimports.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("release-version: v0.5.2", "release-version: v0.5.0"));
  assert.match(install(older), new RegExp(`${IMPORTS} stays`));
  assert.equal((await installed()).release, "v0.5.2");
});

test("a CRD with an API version that ours lacks stays", async () => {
  const about = { ...crd, metadata: { name: "clusterproperties.about.k8s.io" } };
  const { spec } = (await plane.admin.get(about)) as unknown as {
    spec: { versions: readonly { name: string }[] };
  };
  const [first] = spec.versions;
  assert.ok(first);
  const later = { ...first, name: "v1", storage: false };
  await plane.admin.patch(about, { spec: { versions: [...spec.versions, later] } });
  assert.match(install(), /clusterproperties\.about\.k8s\.io stays: it has an API version/);
});
