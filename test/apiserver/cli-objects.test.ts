import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildProgram } from "../../scripts/build/bundle.ts";
import { makeExecutable } from "../../scripts/build/executable.ts";
import { importObject, manifest, sliceObject } from "../generators/objects.ts";
import { CommandLine } from "../stages/command-line.ts";
import { kubernetesCommand } from "./commands.ts";
import { ControlPlane } from "./control-plane.ts";
import { clusterProperty } from "./crds.ts";

// Commands that need no program of ours: simulate, export and unexport; and in which forms the plugin runs.

const AGENT = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
const PLUGIN = fileURLToPath(new URL("../../bin/kubectl-clusterset", import.meta.url));
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "cli-objects-"));
const PORTS = [{ name: "http", port: 80, protocol: "TCP" }];
const EU = { "topology.kubernetes.io/region": "eu" };

let plane: ControlPlane;
let user: CommandLine;
before(async () => {
  plane = await ControlPlane.start({ users: ["agent"] });
  await plane.installCrds();
  const { admin } = plane;
  for (const name of ["shop", "clusterset-proxy"]) await admin.apply(manifest("Namespace", name));
  await admin.apply({ ...manifest("Node", "n1"), metadata: { name: "n1", labels: EU } });
  await admin.apply(clusterProperty("cluster.clusterset.k8s.io", "c1"));
  await admin.apply(importObject("shop/web", ["241.0.0.1"], PORTS));
  await slice("c1", ["10.1.0.1", "10.1.0.2"]);
  await slice("c2", ["10.2.0.1"]);
  for (const [name, team] of Object.entries({ web: "a", api: "a", db: "b" })) {
    const metadata = { namespace: "shop", name, labels: { team } };
    const service = { ...manifest("Service", name), metadata };
    await admin.apply({ ...service, spec: { ports: [{ port: 80 }] } });
  }
  user = new CommandLine({ c1: plane.inlineKubeconfig() });
});
after(async () => {
  user?.[Symbol.dispose]();
  await plane?.remove();
  rmSync(folder, { recursive: true });
});

function slice(cluster: string, addresses: readonly (string | object)[]): Promise<unknown> {
  const origin = { cluster, region: "eu" };
  return plane.admin.apply(sliceObject(`web-${cluster}`, "shop/web", origin, PORTS, addresses));
}

interface Simulated {
  readonly contexts: readonly {
    readonly ports: readonly { readonly before: object; readonly after: object }[];
  }[];
}

async function simulated(...argv: readonly string[]): Promise<readonly unknown[]> {
  const { out, note } = await user.run("simulate", "--all", "-o", "json", ...argv);
  assert.notEqual(out, "", note);
  const [port] = (JSON.parse(out) as Simulated).contexts[0]?.ports ?? [];
  return [port?.before, port?.after];
}

/** The tier, reason and endpoints of the agent's own `plan`. */
async function planned() {
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  const flags = ["--kubeconfig", kubeconfig, "--node-name", "n1", "-o", "json"];
  const { stdout } = await run(AGENT, ["plan", ...flags]);
  const [{ tier, reason, endpoints }] = JSON.parse(stdout).imports[0].services;
  return { tier, reason, endpoints: endpoints.length };
}

test("what is simulated is what agents plan once it has happened", async () => {
  const [today, then] = await simulated("--scale", "shop/web@c1=0");
  const { clusters: ofToday, ...before } = today as { clusters: object };
  assert.deepEqual(before, await planned());
  assert.deepEqual(ofToday, { c1: 1 });
  const { clusters, ...predicted } = then as { clusters: object };
  assert.deepEqual(clusters, { c2: 1 });
  await slice("c1", []);
  assert.deepEqual(predicted, await planned());
  assert.deepEqual((await simulated())[0], then);
  await slice("c1", ["10.1.0.1", "10.1.0.2"]);
});

test("a manifest is simulated as kubectl apply would apply it, and nothing is written", async () => {
  const web = manifest("ServiceImport", "shop/web");
  const before = await plane.admin.get(web);
  const selectors = [
    { propertySelector: { matchProperties: { "cluster.clusterset.k8s.io": "c2" } } },
  ];
  const annotations = { "clusterset-proxy.io/cluster-selectors": JSON.stringify(selectors) };
  const text = JSON.stringify({ ...web, metadata: { ...web.metadata, annotations } });
  const { code, out, note } = await user.run("simulate", "-f", user.file("web.yaml", text));
  assert.equal(code, 0, note);
  assert.match(out, /shop\/web:http {3}local c1 \(2\) {3}selector-1 c2 \(1\)\n/);
  assert.deepEqual(await plane.admin.get(web), before);
});

test("the exit code is 4 if connections were rejected, and an unknown cluster, import or field is an error that names it", async () => {
  const gone = await user.run("simulate", "--without", "c1", "--without", "c2");
  assert.equal(gone.code, 4);
  assert.match(gone.out, /rejected \(no-endpoint\)/);
  assert.equal((await user.run("simulate", "--drain", "c1", "--without", "c2")).code, 3);
  const cluster = await user.run("simulate", "--without", "c9");
  assert.equal(cluster.code, 1);
  assert.equal(cluster.note, "error: c1: no slice is of cluster c9; there are c1, c2\n");
  const missing = await user.run("simulate", "shop/none");
  assert.deepEqual([missing.code, missing.note], [1, "error: c1: no ServiceImport shop/none\n"]);
  const wrong = "{kind: ServiceImport, metadata: {name: web, namespace: shop}, spec: {ports: 7}}";
  const invalid = await user.run("simulate", "-f", user.file("wrong.yaml", wrong));
  assert.equal(invalid.code, 1);
  assert.match(invalid.note, /ServiceImport shop\/web.*spec\.ports.*7/);
  assert.equal((await user.run("simulate", "a/b/c")).code, 2);
  assert.equal((await user.run("simulate", "--scale", "web=0")).code, 2);
});

async function isExported(name: string): Promise<boolean> {
  return (await plane.admin.find(manifest("ServiceExport", `shop/${name}`))) !== undefined;
}

test("Services are exported and withdrawn by name or label; a second time changes nothing", async () => {
  const one = await user.run("export", "shop/web");
  assert.deepEqual([one.code, one.out], [0, "c1: shop/serviceexport/web created\n"]);
  const both = await user.run("export", "-n", "shop", "-l", "team=a");
  assert.match(both.out, /shop\/serviceexport\/api created\n/);
  assert.match(both.out, /shop\/serviceexport\/web unchanged\n/);
  assert.equal(await isExported("db"), false);
  const gone = await user.run("unexport", "web", "-n", "shop");
  assert.equal(gone.out, "c1: shop/serviceexport/web deleted\n");
  assert.equal(await isExported("web"), false);
  const again = await user.run("unexport", "shop/web");
  assert.equal(again.out, "c1: shop/serviceexport/web not found\n");
});

test("a dry run writes nothing; no Service at all, or one beside a selector, is an error", async () => {
  for (const kind of ["client", "server"]) {
    const dry = await user.run("export", "shop/db", `--dry-run=${kind}`);
    assert.equal(dry.out, "c1: shop/serviceexport/db created (dry run)\n");
  }
  assert.equal(await isExported("db"), false);
  assert.equal((await user.run("export")).code, 2);
  assert.equal((await user.run("export", "web", "-l", "a=b")).code, 2);
});

test("kubectl runs the plugin, and completes its commands", async () => {
  symlinkSync(PLUGIN, join(folder, "kubectl-clusterset"));
  const kubectl = kubernetesCommand("kubectl");
  const PATH = [folder, dirname(kubectl), process.env.PATH].join(delimiter);
  const KUBECACHEDIR = join(folder, "cache");
  const env = { ...process.env, PATH, KUBECONFIG: user.kubeconfig, KUBECACHEDIR };
  const script = await run(kubectl, ["clusterset", "completion", "--kubectl"], { env });
  writeFileSync(join(folder, "kubectl_complete-clusterset"), script.stdout, { mode: 0o755 });
  const completed = async (...argv: readonly string[]) =>
    (await run(kubectl, ["__complete", "clusterset", ...argv], { env })).stdout;
  assert.match(await completed("dra"), /^drain\n/);
  assert.match(await completed("drain", "c1", "--context", ""), /^c1\n/);
  const typed = `eval "$(kubectl-clusterset completion bash)"
    COMP_WORDS=(kubectl-clusterset dr) COMP_CWORD=1; _kubectl_clusterset; echo "$COMPREPLY"`;
  const bash = await run("bash", ["-c", typed], { env });
  assert.equal(bash.stdout, "drain\n");
});

test("the bundle for Node, and the executable that needs no Node, work like the sources", async () => {
  const [file] = (await buildProgram("cli", folder)) as [string];
  const executable = join(folder, "executable");
  await makeExecutable(file, executable);
  const argv = ["simulate", "--without", "c1", "--without", "c2"];
  const expected = await user.run(...argv);
  assert.equal(expected.code, 4);
  assert.match(expected.out, /rejected \(no-endpoint\)/);
  // No PATH: neither finds a Node, or a kubectl.
  const env = { KUBECONFIG: user.kubeconfig };
  for (const [command = "", ...first] of [[process.execPath, file], [executable]]) {
    const same = { code: expected.code, stdout: expected.out, stderr: "" };
    await assert.rejects(run(command, [...first, ...argv], { env }), same);
  }
});
