import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { fieldAt } from "../../api/parse/fields.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiObject } from "./api-client.ts";
import { kubernetesCommand } from "./commands.ts";
import { SLICE } from "./controller-stage.ts";
import { JoinedClusters } from "./joined-clusters.ts";

// `kubectl clusterset rotate`, `upgrade` and `leave` in a mesh of three; and `join` after an installation with kubectl, which owns the fields.
// The tests are one story, in order.

const IDS = ["c1", "c2", "c3"] as const;
const JOIN = ["--clusterset", "prod", "--no-wait", "--yes", "--skip-reachability"];
const DEPLOY = fileURLToPath(new URL("../../deploy", import.meta.url));
const FAILOVER = "endpointslice.kubernetes.io/managed-by=cluster-ip-failover.clusterset-proxy.io";
/** Kinds of which we have objects, as docs/guides/uninstall.md lists them. */
const KINDS = [
  ...["v1 Namespace", "networking.k8s.io/v1 IPAddress", "discovery.k8s.io/v1 EndpointSlice"],
  ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"].map(
    (kind) => `rbac.authorization.k8s.io/v1 ${kind}`,
  ),
  "apiextensions.k8s.io/v1 CustomResourceDefinition",
  "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
];

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open(IDS);
  // The same address, spelled in another way: one that a flag has set.
  const server = set.plane("c1").url.replace("127.0.0.1", "127.1");
  // A component with objects outside of our namespace.
  const flags = ["--api-server", `c1=${server}`, "--component", "c3=admission"];
  await set.run("join", ...IDS, ...JOIN, ...flags);
  await set.start(IDS);
  for (const id of IDS) await set.cluster(id).namespace("shop");
  for (const [i, id] of IDS.entries()) {
    await set.cluster(id).offer("shop/web", `10.${i + 1}.3.7`);
  }
  for (const id of IDS)
    await set.cluster(id).untilImported("shop/web", ["10.1.3.7", "10.2.3.7", "10.3.3.7"]);
});
after(() => set?.[Symbol.asyncDispose]());

async function tokens(id: string): Promise<Record<string, string>> {
  const secrets = await listed(id, "Secret");
  const tokens = secrets.map((one) => [one.metadata.name, String(fieldAt(one, "data", "token"))]);
  return Object.fromEntries(tokens);
}

/** Objects of a kind in a cluster's registry. */
function listed(id: string, kind: string): Promise<ApiObject[]> {
  return set.cluster(id).list({ apiVersion: "v1", kind }, `clusterset-registry-${id}`);
}

/** How often a controller has found another cluster stale after it was once alive. */
function silences(): number {
  return IDS.reduce((sum, id) => sum + set.cluster(id).log.split('"lease-silent"').length - 1, 0);
}

test("rotate replaces every token, and no cluster becomes stale for another", async () => {
  const [before, silent] = [await tokens("c1"), silences()];
  assert.deepEqual(Object.keys(before), ["c2", "c3"]);
  const dry = await set.run("rotate", ...IDS, "--dry-run");
  assert.match(dry.out, /^c2 +changed +clusterset-proxy\/secret\/peer-c1 +gets a new token$/m);
  assert.deepEqual(await tokens("c1"), before);
  const { out, note } = await set.run("rotate", ...IDS, "--yes");
  const now = await tokens("c1");
  assert.match(Object.keys(now).join(" "), /^c2-after-\d{8}t\d{6} c3-after-\d{8}t\d{6}$/);
  for (const token of Object.values(now)) {
    assert.ok(token !== "" && !Object.values(before).includes(token));
    const text = Buffer.from(token, "base64").toString();
    for (const printed of [out, note]) assert.ok(!printed.includes(text));
  }
  const secret = await set.plane("c2").admin.get(manifest("Secret", "clusterset-proxy/peer-c1"));
  const kubeconfig = Buffer.from(String(fieldAt(secret, "data", "kubeconfig")), "base64");
  assert.match(kubeconfig.toString(), /server: https:\/\/127\.1:/);
  // Changes still arrive, with the new tokens: the API server has forgotten the old ones after ten seconds.
  await set.cluster("c1").endpoints("shop/web", ["10.1.3.8"]);
  for (const id of IDS)
    await set.cluster(id).untilImported("shop/web", ["10.1.3.8", "10.2.3.7", "10.3.3.7"]);
  assert.equal(silences(), silent);
});

test("a rotation that broke off before the old token was deleted is completed, and join keeps the new one", async () => {
  const { admin } = set.plane("c1");
  const [current = ""] = Object.keys(await tokens("c1"));
  // As it was before the last step.
  const { metadata, ...secret } = manifest("Secret", "clusterset-registry-c1/c2-later");
  const annotations = { "kubernetes.io/service-account.name": "c2" };
  const type = "kubernetes.io/service-account-token";
  await admin.apply({ ...secret, metadata: { ...metadata, annotations }, type });
  const { out } = await set.run("rotate", "c1", "c2", "--yes");
  assert.match(out, /^c2 +changed +\S+\/peer-c1 +continues with the token in c2-later$/m);
  assert.ok(!Object.keys(await tokens("c1")).includes(current));
  const again = await set.run("join", ...IDS, ...JOIN);
  assert.match(again.out, /^nothing to do$/m);
});

test("an upgrade stops at the first cluster whose programs do not become ready", async () => {
  const images = ["--registry-prefix", "registry.example.com/next"];
  const dry = await set.run("upgrade", "c1", "c2", ...images, "--dry-run");
  assert.match(dry.out, /^c1 +changed +clusterset-proxy\/deployment\/clusterset-controller$/m);
  assert.match(dry.out, /^c2 +changed +clusterset-proxy\/daemonset\/clusterset-agent$/m);
  // No kubelet runs here, so its pods never become ready.
  const argv = ["upgrade", "c1", "c2", ...images, "--yes", "--timeout", "2s"];
  const { code, note } = await set.user.run(...argv);
  assert.equal(code, 1);
  assert.match(note, /c1: clusterset-proxy\/deployment\/clusterset-controller: 0 of 2 pods/);
  const image = async (id: string, kind: "Deployment" | "DaemonSet", name: string) => {
    const object = await set.plane(id).admin.get(manifest(kind, `clusterset-proxy/${name}`));
    return /"image":"([^"]+)"/.exec(JSON.stringify(object))?.[1] ?? "";
  };
  assert.match(await image("c1", "Deployment", "clusterset-controller"), /^registry\.example/);
  assert.match(await image("c1", "DaemonSet", "clusterset-agent"), /^clusterset-agent:/);
  assert.match(await image("c2", "Deployment", "clusterset-controller"), /^clusterset-controller:/);
});

test("leave names peers that no context is, and changes nothing", async () => {
  const { code, note } = await set.user.run("leave", "c3", "--context", "c1", "--yes");
  assert.equal(code, 1);
  assert.match(note, /c3 has peers that no context is: c2/);
  const dry = await set.run("leave", "c3", "--context", "c1,c2", "--dry-run");
  assert.match(dry.out, /^c3 +deleted +shop\/serviceexport\/web$/m);
  assert.match(dry.out, /^c1 +deleted +clusterset-proxy\/secret\/peer-c3$/m);
  await set.cluster("c2").untilImported("shop/web", ["10.1.3.8", "10.2.3.7", "10.3.3.7"]);
});

test("leave stops while others use the cluster's endpoints, which its controller is to withdraw", async () => {
  await set.cluster("c3").kill();
  const argv = ["leave", "c3", "--context", "c1,c2", "--yes", "--timeout", "2s"];
  const { code, out, note } = await set.user.run(...argv);
  assert.equal(code, 1);
  assert.match(out, /^c3: shop\/serviceexport\/web deleted$/m);
  assert.match(note, /c1: EndpointSlices of c3: 1 are left, which its controller withdraws/);
  assert.ok(await set.plane("c1").admin.find(manifest("Secret", "clusterset-proxy/peer-c3")));
  // The next run continues.
  await set.start(["c3"]);
});

test("leave withdraws a cluster from the others before it removes its programs, and leaves nothing", async () => {
  // Slices that its controller wrote for Services of users.
  const annotations = { "clusterset-proxy.io/cluster-ip-failover": "true" };
  const service = manifest("Service", "shop/web");
  await set.plane("c3").admin.patch(service, { metadata: { annotations } });
  await eventually(async () => {
    const slices = await set.cluster("c3").list(SLICE, "shop", FAILOVER);
    assert.notEqual(slices.length, 0);
  }, 30_000);
  // The others are found by their contexts, also one whose Secret is lost.
  await set.plane("c3").admin.delete(manifest("Secret", "clusterset-proxy/peer-c2"));
  const { out } = await set.run("leave", "c3", "--yes");
  // In a pod, it would have ended with its namespace.
  await set.cluster("c3").kill();
  const at = (text: string) => {
    const found = out.lastIndexOf(text);
    assert.ok(found >= 0, `${text}\n${out}`);
    return found;
  };
  assert.ok(at("no other cluster uses") < at("c1: clusterset-proxy/secret/peer-c3 deleted"));
  assert.ok(at("peer-c3 deleted") < at("c3: namespace/clusterset-proxy deleted"));
  for (const program of ["deployment/clusterset-controller", "daemonset/clusterset-agent"])
    assert.ok(at(`${program} deleted`) < at("c3: namespace/clusterset-proxy deleted"));
  assert.ok(at("c3: namespace/clusterset-proxy deleted") < at("c3: the agents' rules are removed"));
  for (const id of ["c1", "c2"]) {
    await set.cluster(id).untilImported("shop/web", ["10.1.3.8", "10.2.3.7"]);
    const account = manifest("ServiceAccount", `clusterset-registry-${id}/c3`);
    assert.equal(await set.plane(id).admin.find(account), undefined);
  }
  const left = (await set.objects("c3", KINDS)).map(({ metadata }) => JSON.stringify(metadata));
  const traces = left.filter((text) => /clusterset|multicluster|about\.k8s\.io/.test(text));
  assert.deepEqual(traces, []);
  assert.deepEqual(await set.cluster("c3").list(SLICE, "shop", FAILOVER), []);
});

/** Ways to install without `join`: what a user runs for c3. */
const OTHER_WAYS: Readonly<Record<string, () => void>> = {
  Helm: () => {
    const access = ["--kubeconfig", set.user.kubeconfig, "--kube-context", "c3"];
    const into = ["--namespace", "clusterset-proxy", "--create-namespace"];
    for (const chart of ["clusterset-crds", "clusterset-proxy"]) {
      const install = ["upgrade", "--install", chart, `${DEPLOY}/charts/${chart}`];
      execFileSync(kubernetesCommand("helm"), [...install, ...access, ...into]);
    }
  },
  "kubectl apply": () => apply(),
  "kubectl apply --server-side": () => apply("--server-side"),
};

function apply(...how: readonly string[]): void {
  const kubectl = ["--kubeconfig", set.user.kubeconfig, "--context", "c3", "apply", ...how];
  for (const what of [`-f${DEPLOY}/crds`, `-k${DEPLOY}/overlays/mesh`])
    execFileSync(kubernetesCommand("kubectl"), [...kubectl, what]);
}

test("it can join again after an installation with Helm or kubectl apply, client-side or server-side, without a conflict or a change of its programs", async () => {
  for (const [way, install] of Object.entries(OTHER_WAYS)) {
    await set.run("leave", "c3", "--yes");
    install();
    const { out } = await set.run("join", ...IDS, ...JOIN);
    assert.doesNotMatch(out, /conflict/, way);
    for (const program of ["deployment/clusterset-controller", "daemonset/clusterset-agent"])
      assert.match(out, new RegExp(`^c3 +unchanged +clusterset-proxy/${program}$`, "m"), way);
    assert.match((await set.run("join", ...IDS, ...JOIN)).out, /^nothing to do$/m);
  }
  await set.start(["c3"]);
  await set.cluster("c3").untilImported("shop/web", ["10.1.3.8", "10.2.3.7"]);
});

test("leave --keep-programs leaves no token by which others read the registry", async () => {
  const { out } = await set.run("leave", "c3", "--keep-programs", "--yes");
  for (const id of ["c1", "c2"])
    assert.match(out, new RegExp(`^c3: clusterset-registry-c3/serviceaccount/${id} deleted$`, "m"));
  const accounts = await listed("c3", "ServiceAccount");
  assert.ok(accounts.every(({ metadata }) => metadata.name === "default"));
});
