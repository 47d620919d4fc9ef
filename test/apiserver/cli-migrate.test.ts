import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Reader } from "../e2e/reader.ts";
import { manifest } from "../generators/objects.ts";
import { foreignObjects } from "../migrations/read-objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { addressesOf, planOf } from "./agent-plan.ts";
import type { ApiObject } from "./api-client.ts";
import { CoreDns } from "./core-dns.ts";
import { JoinedClusters } from "./joined-clusters.ts";
import { endpointsOf, SLICE } from "./staged-cluster.ts";

// `kubectl clusterset migrate`, and docs/guides/migrate-*.md, block by block: objects of other implementations in cluster-2
// (test/migrations), beside our controllers. Nothing else writes them: their controllers are stopped, as the guides say. One
// story, in order.

/** Guides, and files of test/migrations. */
const FROM = ["karmada", "cloud-map", "submariner", "cilium", "by-hand"] as const;
type From = (typeof FROM)[number];
const NAMESPACES = [
  ...["shop", "demo", "store", "mesh", "hand"],
  ...["submariner-operator", "cloud-map-mcs-system"],
];
/** Programs that guides stop. */
const DEPLOYMENTS = [
  "submariner-operator/submariner-operator",
  "submariner-operator/submariner-lighthouse-agent",
  "cloud-map-mcs-system/cloud-map-mcs-controller-manager",
];
const SERVICE = { apiVersion: "v1", kind: "Service" };
/** The version that is served before and after a join. */
const MCS = "multicluster.x-k8s.io/v1alpha1";
const IMPORT = { apiVersion: MCS, kind: "ServiceImport" };
const EXPORT = { apiVersion: MCS, kind: "ServiceExport" };
/** Of the Service that Karmada derives from the import of shop/web. */
const OLD_NAME = "derived-web.shop.svc.cluster.local";
const FINALIZER = "multicluster.k8s.aws/service-export-finalizer";
/** What cluster-1 exports, with its endpoint, and that of cluster-2. */
const SERVED = {
  "shop/web": ["10.1.3.7", undefined],
  "shop/api": ["10.1.3.8", "10.2.3.8"],
  "demo/nginx-hello": ["10.1.3.10", undefined],
  "store/cart": ["10.1.3.20", "10.2.3.20"],
  "mesh/taker": ["10.1.3.21", undefined],
  "hand/serve": ["10.1.3.11", "10.2.3.11"],
} as const;
/** Longer than any backoff of the controllers. */
const PATIENCE_MS = 60_000;

let set: JoinedClusters;
let readers: Readonly<Record<From, Reader>>;
/** The address that Cloud Map's import has: the ClusterIP of its derived Service. */
let derivedIp = "";

before(async () => {
  set = await JoinedClusters.open(["cluster-1", "cluster-2"]);
  const all = FROM.map((of) => [of, new Reader(set.user, `migrate-${of}.md`)]);
  readers = Object.fromEntries(all);
  // As their releases bring them, applied by another program.
  await set.plane("cluster-2").installCrds({ versions: ["v1alpha1"] });
  for (const id of ["cluster-1", "cluster-2"]) {
    const { admin } = set.plane(id);
    for (const name of NAMESPACES) await admin.apply(manifest("Namespace", name));
    for (const key of DEPLOYMENTS) await admin.apply(workload("Deployment", key));
  }
});
after(async () => {
  for (const reader of Object.values(readers ?? {})) await reader[Symbol.asyncDispose]();
  await set?.[Symbol.asyncDispose]();
});

test("before a join, each guide's first command prints what happens to the objects, and changes nothing", async () => {
  const { admin } = set.plane("cluster-2");
  for (const file of FROM) {
    const created = await createAll(file);
    await untilSliced(created);
    const before = await everything();
    await readers[file].follow("See what happens to it");
    assert.deepEqual(await everything(), before);
    for (const object of created.reverse())
      if ((await admin.find(object)) !== undefined) await admin.delete(object);
    // The garbage collector follows.
    await eventually(async () => assert.ok((await everything()).length < before.length));
  }
});

test("a cluster with nothing of the implementation says so, and YAML needs a step and one cluster", async () => {
  const none = await set.user.run("migrate", "--from", "by-hand", "--context", "cluster-1");
  assert.deepEqual([none.code, none.out], [3, "Nothing of imports by hand was found.\n"]);
  const argv = ["migrate", "--from", "karmada", "-o", "yaml"];
  assert.equal((await set.user.run(...argv)).code, 2);
  const two = ["--step", "alias", "--context", "cluster-1,cluster-2"];
  assert.equal((await set.user.run(...argv, ...two)).code, 2);
});

test("with Globalnet no step is printed", async () => {
  const { admin } = set.plane("cluster-1");
  const globalnet = workload("DaemonSet", "submariner-operator/submariner-globalnet");
  await admin.apply(globalnet);
  const argv = ["migrate", "--from", "submariner", "--context", "cluster-1"];
  const { code, out } = await set.user.run(...argv);
  assert.equal(code, 4);
  assert.match(out, /^cluster-1 +DaemonSet \S+\/submariner-globalnet +translated-addresses/m);
  assert.doesNotMatch(out, /^1\. /m);
  await admin.delete(globalnet);
});

test("join takes the identity of Cloud Map over; imports are adopted and keep the addresses that clients use", async () => {
  for (const file of FROM) await createAll(file);
  derivedIp = clusterIpOf(await get(SERVICE, "demo/imported-mdkbvsrg20"));
  const cloudMaps = { ...IMPORT, metadata: { namespace: "demo", name: "nginx-hello" } };
  await set.plane("cluster-2").admin.patch(cloudMaps, { spec: { ips: [derivedIp] } });
  await readers.submariner.follow("Stop Lighthouse's agents");
  const before = await get(SLICE, "demo/imported-mdkbvsrg20-cm4xn");
  const ids = ["cluster-1", "cluster-2"];
  const join = ["join", ...ids, "--clusterset", "clusterset1", "--no-wait", "--yes"];
  const { note } = await set.user.run(...join, "--skip-reachability");
  assert.match(note, /--force-conflicts/, "the CRDs are another program's");
  await set.run(...join, "--skip-reachability", "--force-conflicts");
  await set.start(ids);
  const [first, second] = [set.cluster("cluster-1"), set.cluster("cluster-2")];
  await second.untilLogged("this replica reconciles");
  for (const [key, [there, here]] of Object.entries(SERVED)) {
    await first.offer(key, there);
    // The controllers' slices of the Services that cluster-2 has.
    if (here !== undefined) await second.serve(key, [here]);
  }
  const exported = { ...EXPORT, metadata: { namespace: "demo", name: "nginx-hello" } };
  await first.plane.admin.patch(exported, { metadata: { finalizers: [FINALIZER] } });
  await eventually(async () => {
    const { metadata, spec, status } = await importOf("demo/nginx-hello");
    assert.equal(metadata.annotations?.["clusterset-proxy.io/import"], "adopted");
    assert.deepEqual(spec.ips, [derivedIp]);
    assert.deepEqual(status?.clusters, [{ cluster: "cluster-1" }]);
  }, PATIENCE_MS);
  await second.atRest();
  assert.deepEqual(await get(SLICE, "demo/imported-mdkbvsrg20-cm4xn"), before, "theirs stay");
  assert.equal(clusterIpOf(await get(SERVICE, "demo/imported-mdkbvsrg20")), derivedIp);
});

test("Cloud Map: an import gets an address of ours, which controllers keep; the derived Service stays until it is deleted", async () => {
  await readers["cloud-map"].follow("Stop Cloud Map");
  await readers["cloud-map"].follow("Give the imports their new addresses");
  await set.cluster("cluster-2").atRest();
  const { spec } = await importOf("demo/nginx-hello");
  assert.match(spec.ips?.join() ?? "", /^241\.\d+\.\d+\.\d+$/);
  const holder = manifest("IPAddress", spec.ips?.[0] ?? "");
  const address = await set.plane("cluster-2").admin.get(holder);
  assert.partialDeepStrictEqual(address.spec, { parentRef: { name: "nginx-hello" } });
  assert.equal(clusterIpOf(await get(SERVICE, "demo/imported-mdkbvsrg20")), derivedIp);
});

test("slices that another implementation left behind get nothing where ours are: no dead pod, and no ClusterIP", async () => {
  const { services } = planOf(set.plane("cluster-2"), "demo/nginx-hello");
  assert.deepEqual(services.flatMap(addressesOf), ["10.1.3.10"], "10.1.3.9 is gone since the stop");
  await readers.submariner.follow("Join");
  const all = ["10.1.3.20", "10.2.3.20", "172.20.8.8"];
  await set.cluster("cluster-2").untilImported("store/cart", all);
  const cart = planOf(set.plane("cluster-2"), "store/cart");
  assert.deepEqual(cart.services.flatMap(addressesOf), ["10.2.3.20"], "of the own cluster");
  const reasons = cart.excluded.map(({ slice, reason }) => `${slice} ${reason}`);
  assert.ok(reasons.includes("store/cart-8r2fj superseded"), reasons.join());
});

test("Karmada: pods that a MultiClusterService copies into a Service are not exported with it", async () => {
  await readers.karmada.follow("Side by side");
  const first = set.cluster("cluster-1");
  await first.untilImported("shop/api", ["10.1.3.8", "10.2.3.8"]);
  const selector = "multicluster.kubernetes.io/source-cluster=cluster-2";
  const found = endpointsOf(await first.list(SLICE, "shop", selector));
  assert.equal(found.flatMap(({ addresses }) => addresses).join(), "10.2.3.8");
});

test("Karmada: with the guide's rewrite, CoreDNS answers for the old name alone with the import's address, while the Service still exists", async () => {
  const { spec } = await importOf("shop/web");
  const [derived, api] = await Promise.all(
    ["shop/derived-web", "shop/api"].map(async (key) => clusterIpOf(await get(SERVICE, key))),
  );
  const plane = set.plane("cluster-2");
  {
    await using before = await CoreDns.start(plane);
    await before.untilAnswered(OLD_NAME, [derived ?? ""]);
  }
  const guide = readFileSync(`${import.meta.dirname}/../../docs/guides/migrate-karmada.md`, "utf8");
  const [, block = ""] = /^```\n(derived-web\S+ \{\n.*?^\}\n)```$/ms.exec(guide) ?? [];
  await using dns = await CoreDns.start(plane, block);
  await dns.untilAnswered(OLD_NAME, spec.ips ?? []);
  await dns.untilAnswered("api.shop.svc.cluster.local", [api ?? ""]);
  await dns.untilAnswered("web.shop.svc.clusterset.local", spec.ips ?? []);
  await dns.untilUnknown("derived-none.shop.svc.cluster.local");
});

test("Karmada: with the alias, CoreDNS answers for the old name with the import's address, and without it no more", async () => {
  await readers.karmada.follow("Lead the old name here");
  const { spec } = await importOf("shop/web");
  await using dns = await CoreDns.start(set.plane("cluster-2"));
  await dns.untilAnswered(OLD_NAME, spec.ips ?? []);
  await readers.karmada.follow("Without the alias");
  await dns.untilUnknown(OLD_NAME);
});

test("Cilium: affinities arrive as selectors on imports, by the own export, or on the import of a cluster that does not share", async () => {
  await readers.cilium.follow("Export what is shared");
  await readers.cilium.follow("Preferences of clusters that do not share");
  const key = "clusterset-proxy.io/cluster-selectors";
  await eventually(async () => {
    for (const [name, selectors] of [
      ["near", /matchProperties.*@SameAsImporter@/],
      ["far", /NotIn.*@SameAsImporter@/],
      ["even", /^\[\]$/],
    ] as const)
      assert.match((await importOf(`mesh/${name}`)).metadata.annotations?.[key] ?? "", selectors);
  }, PATIENCE_MS);
  await set.cluster("cluster-2").atRest();
  assert.match((await importOf("mesh/taker")).metadata.annotations?.[key] ?? "", /matchProperties/);
  assert.match((await importOf("mesh/api")).spec.ips?.join() ?? "", /^241\.\d+\.\d+\.\d+$/);
  await readers.cilium.follow("Move clients, and end the global Service");
});

test("by hand: an import is adopted with its address when its Service is exported, and the copies go", async () => {
  await readers["by-hand"].follow("Export");
  await readers["by-hand"].follow("Delete the copies");
  assert.deepEqual((await importOf("hand/serve")).spec.ips, ["241.0.0.10"]);
  await set.cluster("cluster-2").untilImported("hand/serve", ["10.1.3.11", "10.2.3.11"]);
});

test("when Lighthouse's uninstaller deletes all ServiceImports, the controller's are back, with the same addresses", async () => {
  const keys = ["shop/web", "demo/nginx-hello", "store/cart"];
  const before = await Promise.all(keys.map(async (key) => (await importOf(key)).spec.ips));
  const { admin } = set.plane("cluster-2");
  for (const { metadata } of await admin.list(IMPORT)) {
    const reference = { ...IMPORT, metadata };
    if ((await admin.find(reference)) !== undefined) await admin.delete(reference);
  }
  await eventually(async () => {
    const found = await Promise.all(keys.map(async (key) => (await importOf(key)).spec.ips));
    assert.deepEqual(found, before);
  }, PATIENCE_MS);
});

test("what is left behind is deleted, with finalizers; every block of the guides was followed", async () => {
  await readers["cloud-map"].follow("Delete what is left behind");
  await readers.submariner.follow("Remove service discovery");
  const { admin } = set.plane("cluster-1");
  await admin.delete({ ...EXPORT, metadata: { namespace: "demo", name: "nginx-hello" } });
  await set.cluster("cluster-2").untilGone("demo/nginx-hello");
  for (const [of, { left }] of Object.entries(readers)) assert.deepEqual(left, [], of);
});

interface Import {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly ips?: readonly string[] };
  readonly status?: { readonly clusters?: readonly { readonly cluster: string }[] };
}

async function importOf(key: string): Promise<Import> {
  return (await get(IMPORT, key)) as unknown as Import;
}

function get(kind: { apiVersion: string; kind: string }, key: string): Promise<ApiObject> {
  const [namespace = "", name = ""] = key.split("/");
  return set.plane("cluster-2").admin.get({ ...kind, metadata: { namespace, name } });
}

function clusterIpOf({ spec }: ApiObject): string {
  return (spec as { clusterIP: string }).clusterIP;
}

function workload(kind: "DaemonSet" | "Deployment", key: string) {
  const head = manifest(kind, key);
  const { name } = head.metadata;
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name, image: name }] } };
  return { ...head, spec: { selector: { matchLabels: labels }, template } };
}

/** Creates the objects of a file in cluster-2, with the uids of their owners. */
async function createAll(file: From): Promise<ApiObject[]> {
  const created: ApiObject[] = [];
  for (const object of foreignObjects(`${file}.yaml`)) {
    const { namespace = "", ownerReferences } = object.metadata;
    const owners = await Promise.all(
      (ownerReferences ?? []).map(async (one) => {
        const kind = one.kind === "Service" ? SERVICE : IMPORT;
        const owner = await get(kind, `${namespace}/${one.name}`);
        return { ...one, uid: owner.metadata.uid };
      }),
    );
    const metadata = { ...object.metadata, ...(owners.length > 0 && { ownerReferences: owners }) };
    const whole = { ...object, metadata } as unknown as ApiObject;
    created.push(await set.plane("cluster-2").admin.create(whole));
  }
  return created;
}

/** Waits until Kubernetes has written slices of those that are Services with a selector. */
async function untilSliced(created: readonly ApiObject[]): Promise<void> {
  const { admin } = set.plane("cluster-2");
  for (const { kind, metadata, spec } of created) {
    if (kind !== "Service" || (spec as { selector?: object }).selector === undefined) continue;
    const own = "endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io";
    const labelSelector = `kubernetes.io/service-name=${metadata.name},${own}`;
    await eventually(async () =>
      assert.ok((await admin.list(SLICE, { labelSelector })).length > 0),
    );
  }
}

/** Versions of all objects that a migration looks at. */
async function everything(): Promise<string[]> {
  const kinds = [SERVICE, EXPORT, IMPORT, SLICE].map((one) => `${one.apiVersion} ${one.kind}`);
  return (await set.objects("cluster-2", kinds)).map(({ metadata }) => {
    return `${metadata.namespace}/${metadata.name} ${metadata.resourceVersion}`;
  });
}
