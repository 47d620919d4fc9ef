import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fieldAt } from "../../api/parse/fields.ts";
import { manifest } from "../generators/objects.ts";
import type { ApiObject } from "./api-client.ts";
import { JoinedClusters } from "./joined-clusters.ts";

// `kubectl clusterset join` on empty API servers: a mesh. The tests are one story, in order.

const IDS = ["c1", "c2", "c3"] as const;
// These clusters have no kubelets: test/e2e/join.ts shows what their pods reach.
const JOIN = ["--clusterset", "prod", "--no-wait", "--yes", "--skip-reachability"];
const SECRET = { apiVersion: "v1", kind: "Secret" };

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open(...IDS);
});
after(() => set?.[Symbol.asyncDispose]());

/** Every object that a join may write, without what the API server and its controllers change by themselves. */
async function written(id: string): Promise<Record<string, string>> {
  const { admin } = set.plane(id);
  const kinds = [
    ["v1", "Namespace"],
    ["v1", "Secret"],
    ["v1", "ServiceAccount"],
    ["apps/v1", "DaemonSet"],
    ["apps/v1", "Deployment"],
    ["rbac.authorization.k8s.io/v1", "ClusterRole"],
    ["rbac.authorization.k8s.io/v1", "RoleBinding"],
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
  ] as const;
  const lists = await Promise.all(
    kinds.map(([apiVersion, kind]) => admin.list({ apiVersion, kind, metadata: {} })),
  );
  // Probes of earlier joins end by themselves.
  const others = lists.flat().filter((one) => !titleOf(one).includes("clusterset-probe-"));
  return Object.fromEntries(others.map((one) => [titleOf(one), contentOf(one)]));
}

function titleOf({ kind, metadata }: ApiObject): string {
  const { namespace = "", name } = metadata as { namespace?: string; name?: string };
  return `${kind ?? ""} ${namespace}/${name}`;
}

function contentOf(object: ApiObject): string {
  const { metadata, status: _status, ...rest } = object;
  const { resourceVersion: _version, managedFields, ...own } = metadata as Record<string, unknown>;
  const managers = ((managedFields ?? []) as { manager: string }[]).filter(
    ({ manager }) => manager === "kubectl-clusterset",
  );
  return JSON.stringify({ ...rest, metadata: own, managers });
}

test("a dry run prints a plan, and changes nothing", async () => {
  const before = await written("c1");
  for (const kind of ["client", "server"]) {
    const { out } = await set.run("join", "c1", "c2", ...JOIN, `--dry-run=${kind}`);
    assert.match(out, /^c1 +c1 +region-1 +10\.1\.0\.0\/16 \(around Nodes' podCIDRs\) +https:/m);
    assert.match(out, /^c1 +created +namespace\/clusterset-proxy$/m);
    assert.match(
      out,
      /^c2 +created +clusterset-proxy\/secret\/peer-c1 +its token is created first$/m,
    );
    assert.match(out, /^dry run: nothing was changed$/m);
  }
  assert.deepEqual(await written("c1"), before);
});

test("without a terminal or --yes, nothing is changed either", async () => {
  const flags = ["--clusterset", "prod", "--skip-reachability"];
  const { code, note } = await set.user.run("join", "c1", "c2", ...flags);
  assert.equal(code, 1);
  assert.match(note, /confirm with --yes/);
  set.user.answer = "no";
  assert.equal((await set.user.run("join", "c1", "--clusterset", "prod")).code, 1);
  set.user.answer = undefined;
  const namespace = manifest("Namespace", "clusterset-proxy");
  assert.equal(await set.plane("c1").admin.find(namespace), undefined);
});

/** Names of the namespaces of probes that are not deleted. */
async function probes(id: string): Promise<string[]> {
  const found = await set.plane(id).admin.list({ apiVersion: "v1", kind: "Namespace" });
  return found
    .map(({ metadata }) => metadata as { name: string; deletionTimestamp?: string })
    .filter(
      ({ name, deletionTimestamp }) => name.startsWith("clusterset-probe-") && !deletionTimestamp,
    )
    .map(({ name }) => name);
}

test("if no pod starts that could check what it reaches, it says so, joins nothing, and leaves no pod", async () => {
  const flags = ["--clusterset", "prod", "--yes", "--timeout", "1s"];
  const { code, note } = await set.user.run("join", "c1", "c2", ...flags);
  assert.equal(code, 1);
  assert.match(
    note,
    /^error: c1: nothing is known of its pods: c1: pod clusterset-probe-\w+\/probe is Pending \(after 1 s\)$/m,
  );
  assert.match(note, /--skip-reachability/);
  for (const id of ["c1", "c2"]) assert.deepEqual(await probes(id), []);
  const namespace = manifest("Namespace", "clusterset-proxy");
  assert.equal(await set.plane("c1").admin.find(namespace), undefined);
});

test("at Ctrl-C, the pods that check are deleted; those of a join that was killed, by a later one", async () => {
  const leftover = {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: "clusterset-probe-killed",
      labels: { "clusterset-proxy.io/probe": "" },
    },
  };
  await set.plane("c1").admin.apply(leftover);
  const interrupt = new AbortController();
  set.user.timeOfDay = () => Date.now() + 2 * 3_600_000;
  const { code } = set.user.start(
    ["join", "c1", "c2", "--clusterset", "prod", "--yes"],
    interrupt.signal,
  );
  while ((await probes("c2")).length === 0) await sleep(50);
  while ((await probes("c1")).some((name) => name === leftover.metadata.name)) await sleep(50);
  interrupt.abort();
  assert.equal(await code, 1);
  set.user.timeOfDay = () => Date.now();
  for (const id of ["c1", "c2"]) assert.deepEqual(await probes(id), []);
});

test("two clusters that joined import each other's exports", async () => {
  const { out, note } = await set.run("join", "c1", "c2", ...JOIN);
  for (const id of ["c1", "c2"]) {
    const { data } = (await set.plane(id).admin.get({
      ...SECRET,
      metadata: { namespace: `clusterset-registry-${id}`, name: id === "c1" ? "c2" : "c1" },
    })) as unknown as { data: { token: string } };
    const token = Buffer.from(data.token, "base64").toString();
    assert.ok(token.length > 100);
    for (const text of [out, note]) assert.ok(!text.includes(token) && !text.includes(data.token));
  }
  await set.start(["c1", "c2"]);
  const [c1, c2] = [set.cluster("c1"), set.cluster("c2")];
  await c1.namespace("shop");
  await c2.serve("shop/web", ["10.2.3.7"]);
  await c2.export("shop/web");
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
  const secret = { ...SECRET, metadata: { namespace: "clusterset-proxy", name: "peer-c2" } };
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
    /warning: c2: https:\/\/127\.0\.0\.2:\d+ cannot be reached from here: \S/,
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
  const evil = Buffer.from(
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://evil.example" } }],
      users: [{ name: "u", user: { token: "x" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  ).toString("base64");
  const secret = { ...SECRET, metadata: { namespace: "clusterset-proxy", name: "peer-c1" } };
  const { admin } = set.plane("c2");
  const before = await admin.get(secret);
  const annotations = { "clusterset-proxy.io/endpoint-cidrs": "10.0.0.0/8" };
  await admin.patch(secret, { metadata: { annotations }, data: { kubeconfig: evil } });
  // The order of contexts does not matter.
  for (const order of [IDS, IDS.toReversed()]) {
    const { code, out, note } = await set.user.run("join", ...order, ...JOIN);
    assert.equal(code, 1);
    assert.match(
      note,
      /^error: c1: c2 has https:\/\/evil\.example as its API server, but c1 itself has https:\/\/127/m,
    );
    assert.match(note, /give --api-server c1=URL\.$/m);
    assert.match(
      note,
      /^error: c1: c2 has 10\.0\.0\.0\/8 as its ranges, but c1 itself has 10\.1\.0\.0\/16\./m,
    );
    assert.doesNotMatch(out, /evil|10\.0\.0\.0/);
  }
  const flags = [
    "--api-server",
    `c1=${set.plane("c1").url}`,
    "--endpoint-cidrs",
    "c1=10.1.0.0/16",
    "--force-conflicts",
  ];
  const { out } = await set.run("join", ...IDS, ...JOIN, ...flags);
  assert.deepEqual(out.match(/^c\d: .* (created|changed)$/gm), [
    "c2: clusterset-proxy/secret/peer-c1 changed",
  ]);
  assert.equal(JSON.stringify((await admin.get(secret)).metadata).includes("10.1.0.0/16"), true);
  assert.ok(before);
});

test("overlaps are named with their owners, and stop a join", async () => {
  const flags = ["--endpoint-cidrs", "c2=10.1.128.0/17", "--clusterset-cidr", "10.3.0.0/24"];
  const { code, note } = await set.user.run("join", ...IDS, ...JOIN, ...flags);
  assert.equal(code, 1);
  assert.match(
    note,
    /^error: 10\.1\.0\.0\/16 \(pods of cluster c1\) overlaps 10\.1\.128\.0\/17 \(pods of cluster c2\)$/m,
  );
  assert.match(
    note,
    /10\.3\.0\.0\/16 \(pods of cluster c3\) overlaps 10\.3\.0\.0\/24 \(the ClusterSet CIDR\)/,
  );
  assert.match(
    note,
    /warning: c2: podCIDRs of Nodes are outside 10\.1\.128\.0\/17, such as 10\.2\.3\.0\/24/,
  );
});

test("a member of another clusterset, another ID and the same cluster twice stop a join", async () => {
  const other = await set.user.run("join", "c1", "c2", "--clusterset", "test", "--yes");
  assert.match(other.note, /c1: it is a member of clusterset prod, not test/);
  const renamed = await set.user.run("join", "c1", "c2", ...JOIN, "--id", "c1=one");
  assert.match(renamed.note, /c1: its ID is c1, and --id says one/);
  const hub = await set.user.run("join", "c1", "c2", "--hub", "c2", ...JOIN);
  assert.match(hub.note, /c2: the hub is the API server of c2/);
  assert.match(hub.note, /its controller uses a mesh/);
  for (const { code } of [other, renamed, hub]) assert.equal(code, 1);
  const partial = await set.user.run("join", "c1", "c2", ...JOIN);
  assert.match(partial.note, /warning: c1 has the peer c3, which is not among the contexts/);
});

test("components are added to the programs of one cluster or of all, and stay until a flag names others", async () => {
  const agents = () =>
    Promise.all(
      IDS.map(async (id) => {
        const agent = await set
          .plane(id)
          .admin.get(manifest("DaemonSet", "clusterset-proxy/clusterset-agent"));
        const text = JSON.stringify(agent.spec);
        return ["nftables,iptables", "NET_RAW", '"prometheus.io/scrape":"true"'].map((part) =>
          text.includes(part),
        );
      }),
    );
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
  assert.match(out, /^c1 +kept +\S+\/serviceimports\.\S+ +v0\.10\.0 0 is newer than v0\.5\.2 0$/m);
  assert.match(
    out,
    /^c1 +conflict +clusterset-proxy\/deployment\/clusterset-controller +.*\.spec\.replicas/m,
  );
  assert.match(note, /--force-conflicts/);
  assert.equal(fieldAt(await admin.get(deployment), "spec", "replicas"), 3);
  await set.run("join", ...IDS, ...JOIN, "--force-conflicts");
  assert.equal(fieldAt(await admin.get(deployment), "spec", "replicas"), 2);
  assert.equal(
    fieldAt(await admin.get(crd), "metadata", "labels", "multicluster.x-k8s.io/release-version"),
    "v0.10.0",
  );
});

test("-o yaml prints all objects by context, without tokens", async () => {
  const { out } = await set.run("join", ...IDS, "--clusterset", "prod", "-o", "yaml");
  assert.equal(out.match(/^# Context c\d$/gm)?.length, 3);
  assert.equal(out.match(/^kind: DaemonSet$/gm)?.length, 3);
  assert.match(out, /^# clusterset-proxy\/secret\/peer-c1: not printed, because it has a token/m);
  assert.doesNotMatch(out, /(token|kubeconfig): /);
});
