import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { foreignObjects } from "../migrations/read-objects.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiObject } from "./api-client.ts";
import { kubernetesCommand } from "./commands.ts";
import { JoinedClusters } from "./joined-clusters.ts";
import { OURS } from "./release.ts";
import { EXPORT, IMPORT, SLICE } from "./staged-cluster.ts";

// `kubectl clusterset migrate`, and what it prints, applied: objects of other implementations in cls2 (test/migrations), beside
// our controllers. Nothing else writes them: their controllers are stopped, as the steps say. One story, in order.

const FILES = ["karmada", "cloud-map", "submariner", "cilium", "by-hand"] as const;
const SERVICE = { apiVersion: "v1", kind: "Service" };
const KUBECTL = kubernetesCommand("kubectl");
/** What both clusters serve, with the endpoint of each. */
const SERVED = {
  "shop/web": ["10.1.3.7", undefined],
  "shop/api": ["10.1.3.8", "10.2.3.8"],
  "demo/nginx-hello": ["10.1.3.10", undefined],
  "store/cart": ["10.1.3.20", "10.2.3.20"],
  "mesh/taker": ["10.1.3.21", undefined],
  "hand/serve": ["10.1.3.11", "10.2.3.11"],
} as const;

let set: JoinedClusters;
/** The address that Cloud Map's import has: the ClusterIP of its derived Service. */
let derivedIp = "";

before(async () => {
  set = await JoinedClusters.open("cls1", "cls2");
  const { plane } = { plane: set.plane("cls2") };
  await plane.installCrds();
  for (const name of ["shop", "demo", "store", "mesh", "hand", "submariner-operator"]) {
    await plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (const file of FILES) {
    for (const object of foreignObjects(`${file}.yaml`))
      await plane.admin.create(await owned(object));
  }
  derivedIp = clusterIpOf(await get(SERVICE, "demo/imported-9cfu7k5mkr"));
  await plane.admin.patch(
    { ...IMPORT, metadata: { namespace: "demo", name: "nginx-hello" } },
    { spec: { ips: [derivedIp] } },
  );
});
after(() => set?.[Symbol.asyncDispose]());

test("before clusterset-proxy is there, it says what will be done, and changes nothing", async () => {
  const before = await everything();
  const { code, out } = await set.user.run("migrate", "--from", "cloudmap", "--context", "cls2");
  assert.equal(code, 3);
  assert.match(out, /^cls2 +ServiceImport demo\/nginx-hello +needs-join /m);
  assert.match(out, /^ +kubectl clusterset join cls2 --dry-run$/m);
  for (const from of ["karmada", "submariner", "cilium", "by-hand"]) {
    const { out: text, note } = await set.user.run("migrate", "--from", from, "--context", "cls2");
    assert.match(text, /^Nothing was changed\. Steps/m, note);
  }
  assert.deepEqual(await everything(), before);
});

test("a cluster with nothing of the implementation says so, and YAML needs a step and one cluster", async () => {
  const none = await set.user.run("migrate", "--from", "karmada", "--context", "cls1");
  assert.deepEqual([none.code, none.out], [3, "Nothing of Karmada was found.\n"]);
  const argv = ["migrate", "--from", "karmada", "-o", "yaml"];
  assert.equal((await set.user.run(...argv)).code, 2);
  const two = ["--step", "alias", "--context", "cls1,cls2"];
  assert.equal((await set.user.run(...argv, ...two)).code, 2);
});

test("join takes the identity of Cloud Map over; imports are adopted and keep the addresses that clients use", async () => {
  const before = await get(SLICE, "demo/imported-9cfu7k5mkr-cm4xn");
  await set.run("join", "cls1", "cls2", "--clusterset", "clusterset1", "--no-wait", "--yes");
  await set.start(["cls1", "cls2"]);
  const [cls1, cls2] = [set.cluster("cls1"), set.cluster("cls2")];
  await cls2.untilLogged("this replica reconciles");
  for (const [key, [first, second]] of Object.entries(SERVED)) {
    await cls1.serve(key, [first]);
    await cls1.export(key);
    // Cluster cls2 has the Services that the other implementations export, and its controllers' slices of them.
    if (second !== undefined) await cls2.serve(key, [second]);
  }
  await eventually(async () => {
    const { metadata, spec, status } = await importOf("demo/nginx-hello");
    assert.equal(metadata.annotations?.["clusterset-proxy.io/import"], "adopted");
    assert.deepEqual(spec.ips, [derivedIp]);
    assert.deepEqual(status?.clusters, [{ cluster: "cls1" }]);
  }, PATIENCE_MS);
  await cls2.atRest();
  assert.deepEqual(await get(SLICE, "demo/imported-9cfu7k5mkr-cm4xn"), before, "theirs stay");
  assert.equal(clusterIpOf(await get(SERVICE, "demo/imported-9cfu7k5mkr")), derivedIp);
});

test("step switch gives imports addresses of ours in one write, and controllers keep them; derived Services stay", async () => {
  for (const [from, key] of [
    ["cloudmap", "demo/nginx-hello"],
    ["cilium", "mesh/api"],
  ] as const) {
    const [manifest] = await apply(from, "switch");
    assert.equal(manifest, `serviceimport.multicluster.x-k8s.io/${key.split("/")[1]} configured`);
    await set.cluster("cls2").atRest();
    const { spec } = await importOf(key);
    assert.match(spec.ips?.join() ?? "", /^241\.\d+\.\d+\.\d+$/, from);
    const holder = { apiVersion: "networking.k8s.io/v1", kind: "IPAddress" };
    const address = await set.plane("cls2").admin.get({
      ...holder,
      metadata: { name: spec.ips?.[0] ?? "" },
    });
    assert.partialDeepStrictEqual(address.spec, { parentRef: { name: key.split("/")[1] } });
    const again = await set.user.run("migrate", "--from", from, "--context", "cls2");
    assert.match(again.out, new RegExp(`ServiceImport ${key} +taken-over`));
  }
  assert.equal(clusterIpOf(await get(SERVICE, "demo/imported-9cfu7k5mkr")), derivedIp);
});

test("slices that another implementation left behind get nothing where ours are: no dead pod, and no ClusterIP", async () => {
  const [cloudMap] = (await plan("demo/nginx-hello")).services;
  assert.deepEqual(
    addressesOf(cloudMap),
    ["10.1.3.10"],
    "10.1.3.9 is gone since Cloud Map stopped",
  );
  await apply("submariner", "export", 0);
  await set.cluster("cls2").untilImported("store/cart", ["10.1.3.20", "10.2.3.20", "172.20.8.8"]);
  const cart = await plan("store/cart");
  assert.deepEqual(cart.services.flatMap(addressesOf), ["10.2.3.20"], "of the own cluster");
  const reasons = cart.excluded.map(({ slice, reason }) => `${slice} ${reason}`);
  assert.ok(reasons.includes("store/cart-8r2fj superseded"), reasons.join());
});

test("Karmada's derived Service becomes an alias of the same name; its slices, and pods of other clusters, are nobody's endpoints", async () => {
  await apply("karmada", "export");
  await apply("karmada", "alias");
  const derived = await get(SERVICE, "shop/derived-web");
  assert.partialDeepStrictEqual(derived.spec, {
    type: "ExternalName",
    externalName: "web.shop.svc.clusterset.local",
  });
  assert.equal((derived.spec as { clusterIP?: string }).clusterIP, undefined);
  // The MultiClusterService has put a pod of member1 into cls2's own Service.
  await set.cluster("cls1").untilImported("shop/api", ["10.1.3.8", "10.2.3.8"]);
  const selector = "multicluster.kubernetes.io/source-cluster=cls2";
  const ofCls2 = await set.cluster("cls1").list(SLICE, "shop", selector);
  assert.deepEqual(
    ofCls2.flatMap(({ endpoints }) =>
      (endpoints as { addresses: string[] }[]).map(({ addresses }) => addresses[0]),
    ),
    ["10.2.3.8"],
  );
});

test("Cilium's affinities arrive as selectors on the imports: by the own export, or on the import of a cluster that does not share", async () => {
  await apply("cilium", "export");
  await apply("cilium", "policy");
  const { admin } = set.plane("cls2");
  for (const name of ["near", "far", "even"]) {
    assert.ok(await admin.find({ ...EXPORT, metadata: { namespace: "mesh", name } }), name);
  }
  const key = "clusterset-proxy.io/cluster-selectors";
  await eventually(async () => {
    const [near, far, even, taker] = await Promise.all(
      ["near", "far", "even", "taker"].map(
        async (name) => (await importOf(`mesh/${name}`)).metadata.annotations?.[key],
      ),
    );
    assert.match(near ?? "", /matchProperties.*@SameAsImporter@/);
    assert.match(far ?? "", /NotIn.*@SameAsImporter@/);
    assert.equal(even, "[]");
    assert.equal(taker, near);
  }, PATIENCE_MS);
  await set.cluster("cls2").atRest();
  assert.notEqual((await importOf("mesh/taker")).metadata.annotations?.[key], undefined);
});

test("an import by hand is adopted with its address when its Service is exported", async () => {
  await apply("by-hand", "export");
  await eventually(async () => {
    const { spec, status } = await importOf("hand/serve");
    assert.deepEqual(status?.clusters?.map(({ cluster }) => cluster).sort(), ["cls1", "cls2"]);
    assert.deepEqual(spec.ips, ["241.0.0.10"]);
  }, PATIENCE_MS);
});

test("when Lighthouse's uninstaller deletes all ServiceImports, the controller's are back, with the same addresses", async () => {
  const keys = ["shop/web", "demo/nginx-hello", "store/cart", "hand/serve"];
  const before = await Promise.all(keys.map(async (key) => (await importOf(key)).spec.ips));
  const { admin } = set.plane("cls2");
  for (const { metadata } of await admin.list({ ...IMPORT, metadata: {} })) {
    const { namespace, name } = metadata as { namespace: string; name: string };
    await admin.delete({ ...IMPORT, metadata: { namespace, name } });
  }
  await eventually(async () => {
    const found = await Promise.all(keys.map(async (key) => (await importOf(key)).spec.ips));
    assert.deepEqual(found, before);
  }, PATIENCE_MS);
});

const PATIENCE_MS = 60_000;

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
  return set.plane("cls2").admin.get({ ...kind, metadata: { namespace, name } });
}

function clusterIpOf({ spec }: ApiObject): string {
  return (spec as { clusterIP: string }).clusterIP;
}

/** The object with the uids of its owners. */
async function owned(object: ReturnType<typeof foreignObjects>[number]): Promise<ApiObject> {
  const { namespace = "", ownerReferences } = object.metadata;
  const owners = await Promise.all(
    (ownerReferences ?? []).map(async (one) => {
      const owner = await get(
        one.kind === "Service" ? SERVICE : IMPORT,
        `${namespace}/${one.name}`,
      );
      return { ...one, uid: (owner.metadata as unknown as { uid: string }).uid };
    }),
  );
  const metadata = { ...object.metadata, ...(owners.length > 0 && { ownerReferences: owners }) };
  return { ...object, metadata } as unknown as ApiObject;
}

/** Versions of all objects that a migration looks at. */
async function everything(): Promise<string[]> {
  const lists = await Promise.all(
    [SERVICE, EXPORT, IMPORT, SLICE].map((kind) =>
      set.plane("cls2").admin.list({ ...kind, metadata: {} }),
    ),
  );
  return lists.flat().map(({ metadata }) => {
    const { namespace, name, resourceVersion } = metadata as Record<string, string>;
    return `${namespace}/${name} ${resourceVersion}`;
  });
}

/** Pipes a step's objects into kubectl, as the printed step does; returns its lines. `count`: of lines; absent: at least one. */
async function apply(from: string, step: string, count?: number): Promise<string[]> {
  const argv = ["migrate", "--from", from, "--context", "cls2", "--step", step, "-o", "yaml"];
  const { out } = await set.run(...argv);
  if (count === 0) {
    assert.equal(out, "");
    return [];
  }
  const command = ["--kubeconfig", set.user.kubeconfig, "--context", "cls2", "apply", "-f", "-"];
  const { status, stdout, stderr } = spawnSync(KUBECTL, command, { input: out, encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const lines = stdout.trim().split("\n");
  assert.ok(lines.length > 0);
  return lines;
}

interface Plan {
  readonly services: readonly { readonly endpoints: readonly { readonly address: string }[] }[];
  readonly excluded: readonly { readonly slice: string; readonly reason: string }[];
}

function addressesOf(service: Plan["services"][number] | undefined): string[] {
  return service?.endpoints.map(({ address }) => address) ?? [];
}

/** What an agent of cls2 would decide. */
async function plan(key: string): Promise<Plan> {
  const kubeconfig = set.plane("cls2").kubeconfig({ user: "admin" });
  const [command = "", ...rest] = OURS.agent;
  const argv = [...rest, "plan", "--kubeconfig", kubeconfig];
  const flags = [
    "--node-name",
    "node-2",
    "--cluster-id",
    "cls2",
    "--clusterset-cidr",
    "241.0.0.0/8",
  ];
  const text = execFileSync(command, [...argv, ...flags, "--output", "json"], { encoding: "utf8" });
  const { imports } = JSON.parse(text) as {
    readonly imports: readonly (Plan & { importKey: string })[];
  };
  const found = imports.find(({ importKey }) => importKey === key);
  if (found === undefined) throw new Error(`no plan of ${key}: ${text}`);
  return found;
}
