import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fieldAt } from "../../api/parse/fields.ts";
import { manifest } from "../generators/objects.ts";
import type { ApiObject } from "./api-client.ts";
import { JoinedClusters } from "./joined-clusters.ts";
import { kubeconfigOf } from "./user.ts";

// `kubectl clusterset join` on empty API servers: a mesh. The tests are one story, in order.

const IDS = ["c1", "c2", "c3"] as const;
// These clusters have no kubelets: test/e2e/join.ts shows what their pods reach.
const JOIN = ["--clusterset", "prod", "--no-wait", "--yes", "--skip-reachability"];
const WRITTEN = [
  ...["v1 Namespace", "v1 Secret", "v1 ServiceAccount", "apps/v1 DaemonSet", "apps/v1 Deployment"],
  ...["rbac.authorization.k8s.io/v1 ClusterRole", "rbac.authorization.k8s.io/v1 RoleBinding"],
  "apiextensions.k8s.io/v1 CustomResourceDefinition",
];

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open(IDS);
});
after(() => set?.[Symbol.asyncDispose]());

/** Every object that a join may write, without what the API server and its controllers change by themselves. */
async function written(id: string): Promise<Record<string, string>> {
  const all = await set.objects(id, WRITTEN);
  // Probes of earlier joins end by themselves.
  const others = all.filter((one) => !titleOf(one).includes("clusterset-probe-"));
  return Object.fromEntries(others.map((one) => [titleOf(one), contentOf(one)]));
}

function titleOf({ kind, metadata }: ApiObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function contentOf(object: ApiObject): string {
  const { metadata, status: _status, ...rest } = object;
  const { resourceVersion: _version, managedFields, ...own } = metadata;
  const managers = ((managedFields ?? []) as { manager: string }[]).filter(
    ({ manager }) => manager === "kubectl-clusterset",
  );
  return JSON.stringify({ ...rest, metadata: own, managers });
}

test("a dry run prints a plan, and changes nothing", async () => {
  const before = await written("c1");
  for (const kind of ["client", "server"]) {
    const { out } = await set.run("join", "c1", "c2", ...JOIN, `--dry-run=${kind}`);
    for (const line of [
      /^c1 +c1 +region-1 +10\.1\.0\.0\/16 \(around Nodes' podCIDRs\) +https:/m,
      /^c1 +created +namespace\/clusterset-proxy$/m,
      /^c2 +created +clusterset-proxy\/secret\/peer-c1 +its token is created first$/m,
      /^dry run: nothing was changed$/m,
    ])
      assert.match(out, line);
  }
  assert.deepEqual(await written("c1"), before);
});

test("without a terminal or --yes, nothing is changed either", async () => {
  const flags = ["--clusterset", "prod", "--skip-reachability"];
  const { code, note } = await set.user.run("join", "c1", "c2", ...flags);
  assert.equal(code, 1);
  assert.match(note, /confirm with --yes/);
  const namespace = manifest("Namespace", "clusterset-proxy");
  assert.equal(await set.plane("c1").admin.find(namespace), undefined);
});

/** Names of the namespaces of probes that are not deleted. */
async function probes(id: string): Promise<string[]> {
  const found = await set.objects(id, ["v1 Namespace"]);
  const living = found.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return living
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith("clusterset-probe-"));
}

test("if no pod starts that could check what it reaches, it says so, joins nothing, and leaves no pod", async () => {
  const flags = ["--clusterset", "prod", "--yes", "--timeout", "1s"];
  const { code, note } = await set.user.run("join", "c1", "c2", ...flags);
  assert.equal(code, 1);
  assert.match(
    note,
    /^error: c1: nothing is known of its pods: c1: pod \S+ is Pending \(after 1 s\)$/m,
  );
  assert.match(note, /--skip-reachability/);
  const images = ["--controller-image", "c:1", "--start-pods", "--timeout", "1s"];
  const checked = await set.user.run("check", "--context", "c1,c2", ...images);
  assert.match(checked.out, /^c1, c2 +reachability +unknown +What pods of c1 reach in c2 is not/m);
  assert.match(checked.note, /^warning: c1: nothing is known of its pods: /m);
  for (const id of ["c1", "c2"]) assert.deepEqual(await probes(id), []);
  const namespace = manifest("Namespace", "clusterset-proxy");
  assert.equal(await set.plane("c1").admin.find(namespace), undefined);
});

test("at Ctrl-C, the pods that check are deleted; those of a join that was killed, by a later one", async () => {
  const { metadata, ...namespace } = manifest("Namespace", "clusterset-probe-killed");
  const labels = { "clusterset-proxy.io/probe": "" };
  await set.plane("c1").admin.apply({ ...namespace, metadata: { ...metadata, labels } });
  const interrupt = new AbortController();
  set.user.timeOfDay = () => Date.now() + 2 * 3_600_000;
  const argv = ["join", "c1", "c2", "--clusterset", "prod", "--yes"];
  const { code } = set.user.start(argv, interrupt.signal);
  while ((await probes("c2")).length === 0) await sleep(50);
  while ((await probes("c1")).includes(metadata.name)) await sleep(50);
  interrupt.abort();
  assert.equal(await code, 1);
  set.user.timeOfDay = () => Date.now();
  for (const id of ["c1", "c2"]) assert.deepEqual(await probes(id), []);
});

test("two clusters that joined import each other's exports", async () => {
  const { out, note } = await set.run("join", "c1", "c2", ...JOIN);
  for (const id of ["c1", "c2"]) {
    const key = `clusterset-registry-${id}/${id === "c1" ? "c2" : "c1"}`;
    const secret = await set.plane(id).admin.get(manifest("Secret", key));
    const encoded = String(fieldAt(secret, "data", "token"));
    const token = Buffer.from(encoded, "base64").toString();
    assert.ok(token.length > 100);
    for (const text of [out, note]) assert.ok(!text.includes(token) && !text.includes(encoded));
  }
  await set.start(["c1", "c2"]);
  const [c1, c2] = [set.cluster("c1"), set.cluster("c2")];
  await c1.namespace("shop");
  await c2.offer("shop/web", "10.2.3.7");
  for (const cluster of [c1, c2]) await cluster.untilImported("shop/web", ["10.2.3.7"]);
});

test("a second join writes nothing, and a later one adds a cluster to those that are in", async () => {
  const before = await written("c1");
  const { out } = await set.run("join", "c1", "c2", ...JOIN);
  assert.match(out, /^nothing to do$/m);
  assert.doesNotMatch(out, / (created|changed) /);
  assert.deepEqual(await written("c1"), before);
  await set.run("join", "c1", "c2", "c3", ...JOIN);
  await set.start(["c3"]);
  await set.cluster("c3").namespace("shop");
  await set.cluster("c3").untilImported("shop/web", ["10.2.3.7"]);
});

test("a join that broke off is continued by the next one, with the tokens that are there", async () => {
  const secret = manifest("Secret", "clusterset-proxy/peer-c2");
  const { admin } = set.plane("c3");
  const before = await admin.get(secret);
  await admin.delete(secret);
  await admin.delete(manifest("ClusterProperty", "region.topology.k8s.io"));
  const { out } = await set.run("join", ...IDS, ...JOIN);
  assert.deepEqual(out.match(/^c\d: .* (created|changed)$/gm), [
    "c3: clusterset-proxy/secret/peer-c2 created",
    "c3: clusterproperty/region.topology.k8s.io created",
  ]);
  assert.deepEqual((await admin.get(secret)).data, before.data);
});

test("addresses and ranges of earlier joins stay until a flag changes them", async () => {
  const other = `c2=${set.plane("c2").url.replace("127.0.0.1", "127.0.0.2")}`;
  const wrong = await set.run("join", ...IDS, ...JOIN, "--api-server", other, "--dry-run=client");
  assert.match(
    wrong.note,
    /warning: c2: https:\S+127\.0\.0\.2:\d+ cannot be reached from here: \S/,
  );
  assert.match(wrong.out, /^c1 +changed +clusterset-proxy\/secret\/peer-c2$/m);
  // The same address, spelled in another way.
  const server = set.plane("c2").url.replace("127.0.0.1", "127.1");
  const flags = ["--api-server", `c2=${server}`, "--endpoint-cidrs", "c2=10.2.0.0/17"];
  await set.run("join", ...IDS, ...JOIN, ...flags);
  const { out } = await set.run("join", ...IDS, ...JOIN);
  assert.match(out, new RegExp(`^c2 .* 10.2.0.0/17 \\(declared before\\) +${server}$`, "m"));
  assert.match(out, /^nothing to do$/m);
  await set.cluster("c2").endpoints("shop/web", ["10.2.3.8"]);
  await set.cluster("c1").untilImported("shop/web", ["10.2.3.8"]);
});

test("what a member says of others is no source: a difference is shown, and needs a flag", async () => {
  const cluster = { server: "https://evil.example" };
  const text = kubeconfigOf({ name: "x", cluster, user: { token: "x" } });
  const evil = Buffer.from(text).toString("base64");
  const secret = manifest("Secret", "clusterset-proxy/peer-c1");
  const { admin } = set.plane("c2");
  const annotations = { "clusterset-proxy.io/endpoint-cidrs": "10.0.0.0/8" };
  await admin.patch(secret, { metadata: { annotations }, data: { kubeconfig: evil } });
  // The order of contexts does not matter.
  for (const order of [IDS, IDS.toReversed()]) {
    const { code, out, note } = await set.user.run("join", ...order, ...JOIN);
    assert.equal(code, 1);
    for (const line of [
      /^error: c1: c2 has https:\/\/evil\.example as its API server, but c1 itself has https:\/\/127/m,
      /give --api-server c1=URL\.$/m,
      /^error: c1: c2 has 10\.0\.0\.0\/8 as its ranges, but c1 itself has 10\.1\.0\.0\/16\./m,
    ])
      assert.match(note, line);
    assert.doesNotMatch(out, /evil|10\.0\.0\.0/);
  }
  const own = ["--api-server", `c1=${set.plane("c1").url}`, "--endpoint-cidrs", "c1=10.1.0.0/16"];
  const flags = [...own, "--force-conflicts"];
  const { out } = await set.run("join", ...IDS, ...JOIN, ...flags);
  assert.deepEqual(out.match(/^c\d: .* (created|changed)$/gm), [
    "c2: clusterset-proxy/secret/peer-c1 changed",
  ]);
  assert.match(JSON.stringify((await admin.get(secret)).metadata), /10\.1\.0\.0\/16/);
});

test("overlaps are named with their owners, and stop a join", async () => {
  const flags = ["--endpoint-cidrs", "c2=10.1.128.0/17", "--clusterset-cidr", "10.3.0.0/24"];
  const { code, note } = await set.user.run("join", ...IDS, ...JOIN, ...flags);
  assert.equal(code, 1);
  for (const line of [
    /^error: 10\.1\.0\.0\/16 \(pods of cluster c1\) overlaps 10\.1\.128\.0\/17 \(pods of cluster c2\)\. /m,
    /10\.3\.0\.0\/16 \(pods of cluster c3\) overlaps 10\.3\.0\.0\/24 \(the ClusterSet CIDR\)/,
    /warning: c2: podCIDRs of Nodes are outside 10\.1\.128\.0\/17, such as 10\.2\.3\.0\/24/,
  ])
    assert.match(note, line);
});

test("a member of another clusterset, another ID and the same cluster twice stop a join", async () => {
  const other = await set.user.run("join", "c1", "c2", "--clusterset", "test", "--yes");
  assert.match(other.note, /c1: It is a member of clusterset prod, not test/);
  const renamed = await set.user.run("join", "c1", "c2", ...JOIN, "--id", "c1=one");
  assert.match(renamed.note, /c1: Its ID is c1, and --id says one/);
  const hub = await set.user.run("join", "c1", "c2", "--hub", "c2", ...JOIN);
  assert.match(hub.note, /c2: the hub is the API server of c2/);
  assert.match(hub.note, /Its controller uses a mesh/);
  for (const { code } of [other, renamed, hub]) assert.equal(code, 1);
  const partial = await set.user.run("join", "c1", "c2", ...JOIN);
  assert.match(partial.note, /warning: c1: It has the peer c3, which is not among the contexts/);
});

test("components are added to the programs of one cluster or of all, and stay until a flag names others", async () => {
  const parts = ["nftables,iptables", "NET_RAW", '"prometheus.io/scrape":"true"'];
  const has = async (id: string) => {
    const agent = manifest("DaemonSet", "clusterset-proxy/clusterset-agent");
    const text = JSON.stringify((await set.plane(id).admin.get(agent)).spec);
    return parts.map((part) => text.includes(part));
  };
  const agents = () => Promise.all(IDS.map(has));
  const base = [false, false, false];
  assert.deepEqual(await agents(), [base, base, base]);
  const flags = ["--component", "c1=nftables", "--component", "scrape", "--component", "c3=k3s"];
  await set.run("join", ...IDS, ...JOIN, ...flags);
  const added = [
    [true, false, true],
    [false, false, true],
    [false, true, true],
  ];
  assert.deepEqual(await agents(), added);
  assert.match((await set.run("join", ...IDS, ...JOIN)).out, /^nothing to do$/m);
  await set.run("join", ...IDS, ...JOIN, "--component", "c1=none");
  assert.deepEqual(await agents(), [base, ...added.slice(1)]);
  await set.run("join", ...IDS, ...JOIN, "--component", "none");
  assert.deepEqual(await agents(), [base, base, base]);
  const wrong = await set.user.run("join", ...IDS, ...JOIN, "--component", "nftable");
  assert.equal(wrong.code, 2);
  assert.match(wrong.note, /Expected one of admission, eks, /);
  const skipped = await set.user.run("join", ...IDS, ...JOIN, "--skip-manifests", ...flags);
  assert.match(skipped.note, /--component is of the manifests that --skip-manifests leaves/);
});

test("a newer CRD stays, and fields of other programs are a conflict that is named", async () => {
  const { admin } = set.plane("c1");
  const crd = manifest("CustomResourceDefinition", "serviceimports.multicluster.x-k8s.io");
  const labels = { "multicluster.x-k8s.io/release-version": "v0.10.0" };
  await admin.patch(crd, { metadata: { labels } });
  const deployment = manifest("Deployment", "clusterset-proxy/clusterset-controller");
  await admin.patch(deployment, { spec: { replicas: 3 } });
  const { code, out, note } = await set.user.run("join", ...IDS, ...JOIN);
  assert.equal(code, 1);
  for (const line of [
    /^c1 +kept +\S+\/serviceimports\.\S+ +v0\.10\.0 0 is newer than v0\.5\.2 0$/m,
    /^c1 +conflict +clusterset-proxy\/deployment\/clusterset-controller +.*\.spec\.replicas/m,
  ])
    assert.match(out, line);
  assert.match(note, /--force-conflicts/);
  assert.equal(fieldAt(await admin.get(deployment), "spec", "replicas"), 3);
  await set.run("join", ...IDS, ...JOIN, "--force-conflicts");
  assert.equal(fieldAt(await admin.get(deployment), "spec", "replicas"), 2);
  assert.partialDeepStrictEqual((await admin.get(crd)).metadata, { labels });
});

test("-o yaml prints all objects by context, without tokens", async () => {
  const { out } = await set.run("join", ...IDS, "--clusterset", "prod", "-o", "yaml");
  assert.equal(out.match(/^# Context c\d$/gm)?.length, 3);
  assert.equal(out.match(/^kind: DaemonSet$/gm)?.length, 3);
  assert.match(out, /^# clusterset-proxy\/secret\/peer-c1: not printed, because it has a token/m);
  assert.doesNotMatch(out, /(token|kubeconfig): /);
});
