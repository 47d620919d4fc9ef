import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { conditionOf } from "../../cli/view/status.ts";
import { plainText } from "../../common/http.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { CommandLine } from "../stages/command-line.ts";
import type { ApiReference } from "./api-client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { ControllerStage, IMPORT } from "./controller-stage.ts";
import { PodPorts } from "./pod-ports.ts";
import { hubRights } from "./rights.ts";

/** The name of a context, as Amazon's tools choose it. */
const TWO = "arn:aws:eks:eu-west-1:1:cluster/two";

/** Each is planted in one place, and looks like what is usually there. */
const PLANTED = {
  token: "eyJhbGciOiJub25lIn0.eyJwbGFudGVkIjoidG9rZW4ifQ.cGxhbnRlZC10b2tlbg",
  annotation: "planted-annotation-4711",
  variable: "planted-variable-4711",
  applied: "planted-applied-4711",
  password: "planted-password-4711",
  key: "cGxhbnRlZC1rZXktNDcxMQ",
  // Tokens of products, which only their form gives away. In parts, so that no scanner takes this file for a leak.
  aws: `AKIA${"QZ3FV5PXKL7HYWD2"}`,
  github: `ghp_${"abcdefghijklmnopqrstuvwxyz0123456789"}`,
  slack: `xoxb-${"123456789012-1234567890123-abcdefghijklmnopqrstuvwx"}`,
};

const OWN_SIDE = manifest("ClusterProperty", "cluster.clusterset.k8s.io");
const PEER = manifest("Secret", "clusterset-proxy/peer-c2");

let mesh: ControllerStage;
let user: CommandLine;
let ports: PodPorts;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "clusterset-bundle-"));
  mesh = await ControllerStage.open({ clusters: ["c1", "c2"] });
  await mesh.start();
  const [c1, c2] = [mesh.cluster("c1"), mesh.cluster("c2")];
  for (const { plane } of [c1, c2])
    await eventually(async () => assert.ok(await plane.admin.find(OWN_SIDE)), 30_000);
  await c1.namespace("shop");
  await c2.offer("shop/web", "10.2.0.7");
  await c1.untilImported("shop/web", ["10.2.0.7"]);
  ports = await PodPorts.start(c1.plane);
  await ports.pod("controller", "controller-1", c1.pagesPort);
  const planted = `Planted: bearer ${PLANTED.password}, then ${PLANTED.github}\n`;
  ports.logs.set("controller-1", `${c1.log}\n${planted}`);
  await ports.agent(leakyPages());
  await plant();
  const [one, two] = [c1.plane.inlineKubeconfig(), c2.plane.inlineKubeconfig()];
  user = new CommandLine({ one, [TWO]: two });
});
after(async () => {
  user?.[Symbol.dispose]();
  await ports?.[Symbol.asyncDispose]();
  await mesh?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** An agent that reports what it should not. */
function leakyPages() {
  const told = `Bearer ${PLANTED.token} password=${PLANTED.password} as ${PLANTED.aws}`;
  const answer = () => plainText(200, `[-]source-nodes unauthorized: ${told}\n`);
  return ["/readyz", "/metrics", "/plan"].map((path) => ({ path, answer }));
}

async function plant(): Promise<void> {
  const { admin } = mesh.cluster("c1").plane;
  const namespace = "clusterset-proxy";
  const kubeconfig = `users: [{ user: { token: ${PLANTED.token}, client-key-data: ${PLANTED.key} } }]`;
  await admin.apply({ ...manifest("Secret", `${namespace}/planted`), stringData: { kubeconfig } });
  const data = { password: PLANTED.password };
  await admin.apply({ ...manifest("ConfigMap", `${namespace}/planted`), data });
  const labels = { "app.kubernetes.io/name": "clusterset-agent" };
  const annotations = {
    "example.com/token": PLANTED.annotation,
    "kubectl.kubernetes.io/last-applied-configuration": `{"env":[{"value":"${PLANTED.applied}"}]}`,
  };
  const container = {
    ...{ name: "agent", image: "clusterset-agent:0.1.0" },
    args: [`--kubeconfig=https://ann:${PLANTED.password}@proxy/`, PLANTED.slack],
    env: [
      { name: "HTTPS_PROXY_AUTH", value: PLANTED.variable },
      { name: "CLUSTERSET_AGENT_HEALTH", value: "all" },
    ],
  };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const { metadata, ...agents } = manifest("DaemonSet", `${namespace}/clusterset-agent`);
  await admin.apply({
    ...{ ...agents, metadata: { ...metadata, labels, annotations } },
    spec: { selector: { matchLabels: labels }, template },
  });
  await admin.create({
    ...manifest("Event", `${namespace}/planted`),
    involvedObject: { namespace, kind: "Pod", name: "agent-1" },
    reason: "Failed",
    message: `login failed: token: ${PLANTED.token}`,
  });
}

/** The files of an archive, by path. */
function unpacked(file: string): ReadonlyMap<string, string> {
  execFileSync("tar", ["-xzf", file, "-C", folder]);
  const paths = execFileSync("tar", ["-tzf", file], { encoding: "utf8" }).trim().split("\n");
  return new Map(paths.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
}

test("a bundle has objects and pages of all contexts, and nothing that was planted as a secret", async () => {
  const file = join(folder, "bundle.tar.gz");
  const { code, out, note } = await user.run("bundle", "--all-contexts", "-f", file);
  assert.equal(note, "");
  const files = unpacked(file);
  const text = (path: string) => files.get(path) ?? assert.fail(`no ${path} in ${out}`);
  assert.match(text("1-one/objects/serviceimports.json"), /"name":"web"/);
  assert.match(text("1-one/pages/controller-1/debug.json"), /"cluster": "c2"/);
  assert.match(text("1-one/pages/agent-1/readyz.txt"), /source-nodes unauthorized/);
  assert.match(text("1-one/objects/daemonsets.json"), /"CLUSTERSET_AGENT_HEALTH","value":"all"/);
  assert.match(text("1-one/objects/events.json"), /"reason":"Failed"/);
  assert.doesNotMatch(text("1-one/objects/events.json"), /login failed/);
  assert.match(text("1-one/objects/leases-clusterset-registry-c1.json"), /"renewTime"/);
  assert.match(text("2-arn_aws_eks_eu-west-1_1_cluster_two/objects/serviceexports.json"), /"web"/);
  assert.match(text("contents.txt"), /^1-one\/objects\/nodes\.json \d+$/m);
  const all = [...files].map(([path, content]) => `${path}\n${content}`).join("\n") + out;
  for (const [where, secret] of Object.entries(PLANTED)) {
    assert.ok(!all.includes(secret), `the secret of ${where} is in the bundle`);
    assert.ok(!all.includes(Buffer.from(secret).toString("base64")), `${where}, in base64`);
  }
  for (const { plane } of mesh.clusters) assert.ok(!all.includes(tokenOf(plane)));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.match(text("1-one/logs/controller-1.log"), /"msg":/);
  const cut = ["logs/controller-1.log", "pages/agent-1/plan.json", "objects/daemonsets.json"];
  for (const path of cut) assert.match(text(`1-one/${path}`), /\(left out\)/, path);
  // The other pod's log cannot be read.
  assert.equal(code, 3);
  assert.match(out, /^1-one\/logs\/agent-1\.log +- +\S+: /m);
  assert.doesNotMatch(out, /previous/);
});

/** The token of the kubeconfig. */
function tokenOf(plane: ControlPlane): string {
  const [, token] = /token"?: *"?([^"\n]+)/.exec(plane.inlineKubeconfig()) ?? [];
  return token ?? assert.fail("the kubeconfig has no token");
}

test("an existing file is not overwritten, and without logs all is there", async () => {
  const file = join(folder, "again.tar.gz");
  assert.equal((await user.run("bundle", "--no-logs", "-f", file)).code, 0);
  const { code, note } = await user.run("bundle", "--no-logs", "-f", file);
  assert.equal(code, 1);
  assert.match(note, /again\.tar\.gz: EEXIST.*CSP_FILE_UNWRITABLE/);
});

test("Ctrl-C ends it, and leaves no incomplete archive", async () => {
  const file = join(folder, "stopped.tar.gz");
  const stop = new AbortController();
  const writing = user.start(["bundle", "--all-contexts", "-f", file], stop.signal);
  await eventually(() => assert.ok(existsSync(file)), 30_000);
  stop.abort();
  assert.equal(await writing.code, 1);
  assert.ok(!existsSync(file));
});

async function stated({ admin }: ControlPlane, object: ApiReference): Promise<unknown> {
  return fieldAt(await admin.find(object), "metadata", "annotations", ANNOTATION_DRAIN);
}

async function messageOfImport(): Promise<string> {
  return conditionOf(await mesh.cluster("c1").find(IMPORT, "shop/web"), "Ready")?.message ?? "";
}

test("drain states the drain on the cluster itself if a context is its own, and undrain takes it back", async () => {
  const [c1, c2] = [mesh.cluster("c1").plane, mesh.cluster("c2").plane];
  const argv = ["drain", "c2", "--for", "2h", "--reason", "kernel upgrade"];
  const drained = await user.run(...argv, "--context", `one,${TWO}`);
  assert.equal(drained.code, 0, drained.note);
  const [said, until] = drained.out.split("\n");
  assert.match(
    said ?? "",
    /two: clusterproperty\/cluster\.clusterset\S+ drained, effective in all clusters$/,
  );
  assert.match(until ?? "", /^cluster c2 is drained until \S+Z$/);
  assert.equal(await stated(c1, PEER), undefined);
  await eventually(async () =>
    assert.match(await messageOfImport(), / Drained: c2 until \S+Z by ann \(kernel upgrade\)\.$/),
  );
  const undrained = await user.run("undrain", "c2", "--context", `one,${TWO}`);
  assert.equal(undrained.code, 0, undrained.note);
  assert.equal(await stated(c2, OWN_SIDE), undefined);
});

test("of importing clusters that are named, drain concerns these; without a name, the whole clusterset", async () => {
  const { plane } = mesh.cluster("c1");
  const one = ["--context", "one"];
  const { code, out } = await user.run("drain", "c2", "--for", "1h", ...one);
  assert.equal(code, 0);
  assert.match(out, /^one: \S+\/peer-c2 drained, effective in this importing cluster only\n/);
  assert.match(String(await stated(plane, PEER)), /for=3600s; by=ann$/);
  await eventually(async () => assert.match(await messageOfImport(), / Drained: c2 until /));
  assert.equal((await user.run("undrain", "c2", ...one)).code, 0);
  assert.equal(await stated(plane, PEER), undefined);
  const none = await user.run("undrain", "c2", ...one);
  assert.equal(none.out, "no drain of cluster c2 is stated in one\n");
  const all = await user.run("drain", "c2", "--for", "1h");
  assert.match(all.out, /^\S+two: clusterproperty\/\S+ drained, effective in all clusters\n/);
  assert.equal((await user.run("undrain", "c2")).code, 0);
});

test("with a hub, drain annotates the namespace of the cluster's registry there", async () => {
  // c2's API server is the hub of another clusterset.
  const hub = mesh.cluster("c2").plane;
  for (const object of hubRights(["c9"])) await hub.admin.apply(object);
  using operator = new CommandLine({ hub: hub.inlineKubeconfig() });
  const { code, out, note } = await operator.run("drain", "c9", "--for", "30m");
  assert.equal(code, 0, note);
  assert.match(out, /^hub: namespace\/\S+ drained, effective in all clusters of the hub\n/);
  const namespace = manifest("Namespace", registryNamespace("c9"));
  assert.match(String(await stated(hub, namespace)), /for=1800s/);
  await hub.admin.delete(namespace);
});

test("a dry run changes nothing, and an unknown cluster or an invalid length is an error that names it", async () => {
  for (const kind of ["client", "server"]) {
    const dry = await user.run("drain", "c2", "--for", "1h", `--dry-run=${kind}`);
    assert.match(dry.out, /\(dry run\)\n/);
  }
  assert.equal(await stated(mesh.cluster("c1").plane, PEER), undefined);
  const unknown = await user.run("drain", "c8", "--for", "1h");
  assert.equal(unknown.code, 1);
  assert.match(unknown.note, /^No context is cluster c8/);
  for (const length of ["2", "31d", "-1h", "1h30m"]) {
    const wrong = await user.run("drain", "c2", `--for=${length}`);
    assert.equal(wrong.code, 2);
    assert.match(wrong.note, new RegExp(`'${length}' is invalid`));
  }
});
