import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, afterEach, before, test } from "node:test";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { ControlPlane } from "../apiserver/control-plane.ts";
import { CommandLine } from "../stages/command-line.ts";
import { CHARTS, type Values } from "./rendered.ts";

// The charts on a real API server: installed, upgraded, adopted and uninstalled; and deploy/crds/install. On nodes, test/e2e/hub.test.ts shows charts.

const ROOT = join(import.meta.dirname, "../..");
const NAMESPACE = "clusterset-proxy";
const CRDS = "clusterset-crds";
const PRODUCT = "clusterset-proxy";
/** All kinds of the chart. */
const KINDS =
  "daemonsets,deployments,serviceaccounts,networkpolicies,poddisruptionbudgets,resourcequotas,roles,rolebindings,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings";
const IMPORTS = "serviceimports.multicluster.x-k8s.io";
const ADOPTING = ["--take-ownership", "--force-conflicts"];
const IDENTITY: Values = { identity: { cluster: "cluster-1", region: "eu-west" } };

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start({ controllerManager: true });
  await kubectl("create", "namespace", NAMESPACE);
});
after(() => plane?.remove());
afterEach(async () => {
  for (const name of [PRODUCT, CRDS]) await helm("uninstall", "--ignore-not-found", name);
  await kubectl("delete", "crds", "--all");
});

/** Runs a command for the cluster's admin; returns its output. Throws if it fails. */
async function run(name: string, argv: readonly string[], input?: unknown): Promise<string> {
  const env = {
    ...process.env,
    KUBECONFIG: plane.kubeconfig({ user: "admin" }),
    KUBECACHEDIR: `${plane.directory}/kubectl-cache`,
    PATH: `${dirname(kubernetesCommand("kubectl"))}:${process.env.PATH}`,
  };
  const child = spawn(name, [...argv], { env });
  child.stdin.end(input === undefined ? "" : JSON.stringify(input));
  // Not spawnSync: the API server's output goes through this process, too.
  const [out, errors] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  if (child.exitCode !== 0) throw new Error(`${name} ${argv.join(" ")}\n${out}${errors}`);
  return out;
}

function kubectl(...argv: readonly string[]): Promise<string> {
  return run("kubectl", argv);
}

function helm(...argv: readonly string[]): Promise<string> {
  return run(kubernetesCommand("helm"), [...argv, "--namespace", NAMESPACE]);
}

/** Installs or upgrades a release; returns what Helm prints. */
function apply(chart: string, values: Values = {}, ...more: readonly string[]): Promise<string> {
  const argv = ["upgrade", "--install", chart, join(CHARTS, chart), "--values", "-", ...more];
  return run(kubernetesCommand("helm"), [...argv, "--namespace", NAMESPACE], values);
}

/** Objects of the product, by kind and name. */
async function ours(): Promise<string[]> {
  const named = (await kubectl("get", KINDS, "-A", "-o", "name")).split("\n");
  return named.filter((line) => /clusterset|critical-pods/.test(line)).sort();
}

/** The pod templates of agents and controllers, of which each change restarts pods: as text. */
function templates(): Promise<string> {
  return kubectl(
    ...["-n", NAMESPACE, "get", "daemonset/clusterset-agent", "deployment/clusterset-controller"],
    ...["-o", "jsonpath={.items[*].spec.template}"],
  );
}

/** Creates a ServiceExport; shows later that it is the same. */
async function exported(): Promise<() => Promise<void>> {
  const manifest = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceExport" };
  const metadata = { name: "web", namespace: "default" };
  await run("kubectl", ["apply", "-f", "-"], { ...manifest, metadata });
  const uid = () => kubectl("get", "serviceexport", "web", "-o", "jsonpath={.metadata.uid}");
  const before = await uid();
  return async () => assert.equal(await uid(), before);
}

/** Changes the CRD of ServiceImports. */
function change(patch: object): Promise<string> {
  return kubectl("patch", "crd", IMPORTS, "--type=merge", "-p", JSON.stringify(patch));
}

/** A mark in that CRD that an update by the chart removes. */
const THEIRS = { spec: { names: { categories: ["theirs"] } } };

function categoryOfImports(): Promise<string> {
  return kubectl("get", "crd", IMPORTS, "-o", "jsonpath={.spec.names.categories[0]}");
}

test("an upgrade with the same values changes no pod; other values do", async () => {
  await apply(CRDS);
  await apply(PRODUCT, IDENTITY);
  const before = await templates();
  assert.match(before, /"image":"clusterset-agent:.*"image":"clusterset-controller:/);
  await apply(PRODUCT, IDENTITY);
  assert.equal(await templates(), before);
  await apply(PRODUCT, { ...IDENTITY, agent: { flags: { "log-level": "debug" } } });
  assert.notEqual(await templates(), before);
  await helm("rollback", PRODUCT, "1");
  assert.equal(await templates(), before);
});

test("uninstalling both charts leaves CRDs and ServiceExports, and nothing else of theirs", async () => {
  await apply(CRDS);
  await apply(PRODUCT, {
    ...IDENTITY,
    admissionPolicies: true,
    coredns: { rbac: true, own: true },
  });
  const installed = await ours();
  assert.ok(installed.length > 20, installed.join("\n"));
  const exportStays = await exported();
  await helm("uninstall", PRODUCT);
  assert.deepEqual(await ours(), []);
  assert.equal(await kubectl("get", "clusterproperties", "-o", "name"), "");
  await helm("uninstall", CRDS);
  await exportStays();
  // And the next installation finds its own CRDs.
  assert.doesNotMatch(await apply(CRDS), /stays as it is/);
  await exportStays();
});

test("the chart adopts an installation of kubectl without changing a pod", async () => {
  await kubectl("apply", "-f", join(ROOT, "deploy/crds"));
  await kubectl("apply", "-k", join(ROOT, "deploy/overlays/mesh"));
  const before = await templates();
  await assert.rejects(apply(PRODUCT), /cannot be imported into the current release/);
  await apply(PRODUCT, {}, ...ADOPTING);
  assert.equal(await templates(), before);
  await helm("uninstall", PRODUCT);
  assert.deepEqual(await ours(), []);
});

test("kubectl delete -k of an overlay leaves CRDs and ServiceExports, and nothing else", async () => {
  await kubectl("apply", "-f", join(ROOT, "deploy/crds"));
  const exportStays = await exported();
  for (const overlay of ["mesh", "hub"]) {
    const folder = join(ROOT, "deploy/overlays", overlay);
    await kubectl("apply", "-k", folder);
    await kubectl("delete", "-k", folder);
    assert.deepEqual(await ours(), []);
    await exportStays();
  }
  await kubectl("create", "namespace", NAMESPACE);
});

test("CRDs that the release did not install stay, unless it adopts them", async () => {
  await kubectl("apply", "-f", join(ROOT, "deploy/crds"));
  await change(THEIRS);
  const said = await apply(CRDS);
  assert.equal(said.match(/stays as it is: this release did not install it/g)?.length, 3);
  assert.equal(await categoryOfImports(), "theirs");
  assert.doesNotMatch(await apply(CRDS, { adopt: true }, ...ADOPTING), /stays as it is/);
  assert.equal(await categoryOfImports(), "multicluster");
});

for (const [label, value] of [
  ["release-version", "v0.10.0"],
  ["crd-schema-revision", "10"],
] as const) {
  test(`a CRD with a later ${label} stays, with its objects, also in the release that installed it`, async () => {
    await apply(CRDS);
    await change({ metadata: { labels: { [`multicluster.x-k8s.io/${label}`]: value } } });
    await change(THEIRS);
    const exportStays = await exported();
    const said = await apply(CRDS, { adopt: true });
    assert.match(said, /serviceimports\S+ stays as it is: it is of a later release/);
    assert.equal(await categoryOfImports(), "theirs");
    await exportStays();
  });
}

test("a CRD with an API version that the chart, or deploy/crds, lacks stays", async () => {
  await apply(CRDS);
  const crd = "clusterproperties.about.k8s.io";
  const { versions } = JSON.parse(await kubectl("get", "crd", crd, "-o", "json")).spec;
  const later = { ...versions[0], name: "v1", storage: false };
  const patch = { spec: { versions: [...versions, later] } };
  await kubectl("patch", "crd", crd, "--type=merge", "-p", JSON.stringify(patch));
  assert.match(await apply(CRDS), /clusterproperties\S+ stays as it is: it has the API version v1/);
  assert.match(await install(), /clusterproperties\.about\.k8s\.io stays: it has an API version/);
});

test("without CRDs, the notes name what is missing; with an identity, Helm refuses to install", async () => {
  assert.match(await apply(PRODUCT), /does not serve multicluster\.x-k8s\.io\/v1beta1/);
  await helm("uninstall", PRODUCT);
  await assert.rejects(apply(PRODUCT, IDENTITY), /ensure CRDs are installed first/);
});

// deploy/crds/install.

const DIRECTORY = join(ROOT, "deploy/crds");
const [RELEASE, REVISION] = [
  "multicluster.x-k8s.io/release-version",
  "multicluster.x-k8s.io/crd-schema-revision",
];

async function install(directory = DIRECTORY): Promise<string> {
  const context = (await kubectl("config", "current-context")).trim();
  return run(join(directory, "install"), [context]);
}

/** Gives the installed CRD other labels, and a mark that shows whether it was replaced. */
function relabel(release: string | null, revision: string | null): Promise<string> {
  return change({ metadata: { labels: { [RELEASE]: release, [REVISION]: revision } }, ...THEIRS });
}

/** Release and revision of the installed CRD, and whose it is. */
async function installed(): Promise<string[]> {
  const { metadata, spec } = JSON.parse(await kubectl("get", "crd", IMPORTS, "-o", "json"));
  return [metadata.labels[RELEASE], metadata.labels[REVISION], ...spec.names.categories];
}

test("kubectl clusterset join after the chart changes no program, and leave takes all of it away", async () => {
  const values = { ...IDENTITY, agent: { image: { repository: "r.example/clusterset-agent" } } };
  await apply(CRDS);
  await apply(PRODUCT, values);
  const before = await templates();
  using user = new CommandLine({ c1: plane.inlineKubeconfig({ user: "admin" }) });
  const join = ["join", "c1", "--clusterset", "prod", "--no-wait", "--yes", "--skip-reachability"];
  const argv = [...join, "--endpoint-cidrs", "c1=10.1.0.0/16"];
  const { code, out, note } = await user.run(...argv);
  assert.equal(code, 0, out + note);
  assert.match(out, /^c1: namespace\/clusterset-registry-cluster-1 created$/m);
  assert.equal(await templates(), before);
  assert.match((await user.run(...argv)).out, /^nothing to do$/m);
  // Helm goes on with its release.
  await apply(PRODUCT, values);
  assert.equal(await templates(), before);
  const left = await user.run("leave", "c1", "--yes");
  assert.equal(left.code, 0, left.note);
  assert.match(left.note, /^c1: CRDs that join did not apply stay: /m);
  assert.deepEqual(await ours(), []);
  await kubectl("create", "namespace", NAMESPACE);
});

test("deploy/crds/install: CRDs of newer releases stay, others are replaced", async () => {
  await install();
  const ours = ["v0.5.2", "0", "multicluster"];
  assert.deepEqual(await installed(), ours, "the labels of mcs-api's release");
  for (const [release, revision] of [
    ["v0.5.2", "1"],
    ["v0.6.0", "0"],
    ["v0.10.0", "0"],
  ] as const) {
    await relabel(release, revision);
    const said = await install();
    assert.match(said, new RegExp(`${IMPORTS} stays: ${release} ${revision} is newer`));
    assert.deepEqual(await installed(), [release, revision, "theirs"]);
  }
  for (const [release, revision] of [
    [null, null],
    ["v0.3.0", "1"],
    ["v0.5.1", "9"],
  ] as const) {
    await relabel(release, revision);
    assert.doesNotMatch(await install(), /stays/);
    assert.deepEqual(await installed(), ours);
  }
  const older = join(plane.directory, "older-crds");
  cpSync(DIRECTORY, older, { recursive: true });
  const file = join(older, "serviceimports.yaml");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, before.replace("release-version: v0.5.2", "release-version: v0.5.0"));
  assert.match(await install(older), new RegExp(`${IMPORTS} stays`));
  assert.deepEqual(await installed(), ours);
});
