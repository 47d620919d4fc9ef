import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
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
const [SECRET, ACCOUNT] = [
  { apiVersion: "v1", kind: "Secret" },
  { apiVersion: "v1", kind: "ServiceAccount" },
];

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open(...IDS);
  // The same address, spelled in another way: one that a flag has set.
  const server = set.plane("c1").url.replace("127.0.0.1", "127.1");
  // A component with objects outside of our namespace.
  const flags = ["--api-server", `c1=${server}`, "--component", "c3=admission"];
  await set.run("join", ...IDS, ...JOIN, ...flags);
  await set.start(IDS);
  for (const id of IDS) await set.cluster(id).namespace("shop");
  for (const [i, id] of IDS.entries()) {
    await set.cluster(id).serve("shop/web", [`10.${i + 1}.3.7`]);
    await set.cluster(id).export("shop/web");
  }
  for (const id of IDS)
    await set.cluster(id).untilImported("shop/web", ["10.1.3.7", "10.2.3.7", "10.3.3.7"]);
});
after(() => set?.[Symbol.asyncDispose]());

async function tokens(id: string): Promise<Record<string, string>> {
  const metadata = { namespace: `clusterset-registry-${id}` };
  const secrets = await set.plane(id).admin.list({ ...SECRET, metadata });
  return Object.fromEntries(secrets.map((one) => [nameOf(one), tokenOf(one)]));
}

function nameOf({ metadata }: ApiObject): string {
  return (metadata as { name?: string }).name ?? "";
}

function tokenOf(secret: ApiObject): string {
  return (secret as unknown as { data?: { token?: string } }).data?.token ?? "";
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
  assert.deepEqual(
    Object.keys(now).map((name) => name.replace(/-after-\d{8}t\d{6}$/, "-(time)")),
    ["c2-(time)", "c3-(time)"],
  );
  for (const token of Object.values(now)) {
    assert.ok(token !== "" && !Object.values(before).includes(token));
    const text = Buffer.from(token, "base64").toString();
    for (const printed of [out, note]) assert.ok(!printed.includes(text));
  }
  const metadata = { namespace: "clusterset-proxy", name: "peer-c1" };
  const { data } = (await set.plane("c2").admin.get({ ...SECRET, metadata })) as unknown as {
    data: { kubeconfig: string };
  };
  assert.match(Buffer.from(data.kubeconfig, "base64").toString(), /server: https:\/\/127\.1:/);
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
  await admin.apply({
    ...SECRET,
    metadata: {
      ...{ namespace: "clusterset-registry-c1", name: "c2-later" },
      annotations: { "kubernetes.io/service-account.name": "c2" },
    },
    type: "kubernetes.io/service-account-token",
  });
  const { out } = await set.run("rotate", "c1", "c2", "--yes");
  assert.match(
    out,
    /^c2 +changed +clusterset-proxy\/secret\/peer-c1 +continues with the token in c2-later$/m,
  );
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
    const metadata = { namespace: "clusterset-proxy", name };
    const object = await set.plane(id).admin.get({ apiVersion: "apps/v1", kind, metadata });
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
  const metadata = { namespace: "clusterset-proxy", name: "peer-c3" };
  assert.ok(await set.plane("c1").admin.find({ ...SECRET, metadata }));
  // The next run continues.
  await set.start(["c3"]);
});

test("leave withdraws a cluster from the others before it removes its programs, and leaves nothing", async () => {
  // Slices that its controller wrote for Services of users.
  await set
    .plane("c3")
    .admin.patch(
      { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "web" } },
      { metadata: { annotations: { "clusterset-proxy.io/cluster-ip-failover": "true" } } },
    );
  await eventually(async () => {
    const slices = await set.cluster("c3").list(SLICE, "shop", FAILOVER);
    assert.notEqual(slices.length, 0);
  }, 30_000);
  // The others are found by their contexts, also one whose Secret is lost.
  const lost = { namespace: "clusterset-proxy", name: "peer-c2" };
  await set.plane("c3").admin.delete({ ...SECRET, metadata: lost });
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
    const metadata = { namespace: `clusterset-registry-${id}`, name: "c3" };
    assert.equal(await set.plane(id).admin.find({ ...ACCOUNT, metadata }), undefined);
  }
  assert.deepEqual(await traces("c3"), []);
  assert.deepEqual(await set.cluster("c3").list(SLICE, "shop", FAILOVER), []);
});

test("a cluster that left is no member, and leave says so", async () => {
  const { out } = await set.run("leave", "c3", "--yes");
  assert.match(out, /^c3: not a member: nothing to delete/);
  assert.doesNotMatch(out, /deleted$/m);
});

test("it can join again after kubectl apply, client-side or server-side, without a conflict or a change of its programs", async () => {
  const kubectl = ["--kubeconfig", set.user.kubeconfig, "--context", "c3", "apply"];
  for (const how of [[], ["--server-side"]]) {
    await set.run("leave", "c3", "--yes");
    for (const what of [`-f${DEPLOY}/crds`, `-k${DEPLOY}/overlays/mesh`])
      execFileSync(kubernetesCommand("kubectl"), [...kubectl, ...how, what]);
    const { out } = await set.run("join", ...IDS, ...JOIN);
    assert.doesNotMatch(out, /conflict/);
    for (const program of ["deployment/clusterset-controller", "daemonset/clusterset-agent"])
      assert.match(out, new RegExp(`^c3 +unchanged +clusterset-proxy/${program}$`, "m"));
    assert.match((await set.run("join", ...IDS, ...JOIN)).out, /^nothing to do$/m);
  }
  await set.start(["c3"]);
  await set.cluster("c3").untilImported("shop/web", ["10.1.3.8", "10.2.3.7"]);
});

test("leave --keep-programs leaves no token by which others read the registry", async () => {
  const { out } = await set.run("leave", "c3", "--keep-programs", "--yes");
  for (const id of ["c1", "c2"])
    assert.match(out, new RegExp(`^c3: clusterset-registry-c3/serviceaccount/${id} deleted$`, "m"));
  const metadata = { namespace: "clusterset-registry-c3" };
  const accounts = await set.plane("c3").admin.list({ ...ACCOUNT, metadata });
  assert.deepEqual(new Set(accounts.map(nameOf)), new Set(["default"]));
});

/** Names of all objects of a cluster that tell of us, as docs/guides/uninstall.md lists them. */
async function traces(id: string): Promise<string[]> {
  const kinds = [
    ["v1", "Namespace"],
    ["rbac.authorization.k8s.io/v1", "ClusterRole"],
    ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
    ["rbac.authorization.k8s.io/v1", "Role"],
    ["rbac.authorization.k8s.io/v1", "RoleBinding"],
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
    ["networking.k8s.io/v1", "IPAddress"],
    ["discovery.k8s.io/v1", "EndpointSlice"],
    ["admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"],
  ] as const;
  const { admin } = set.plane(id);
  const lists = await Promise.all(
    kinds.map(([apiVersion, kind]) => admin.list({ apiVersion, kind, metadata: {} })),
  );
  return lists
    .flat()
    .map((object) => JSON.stringify(object.metadata))
    .filter((text) => /clusterset|multicluster|about\.k8s\.io/.test(text));
}
