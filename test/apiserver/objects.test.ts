import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { importObject, sliceObject } from "../generators/objects.ts";
import type { ApiReference } from "./api-client.ts";
import { ControlPlane } from "./control-plane.ts";
import { crds } from "./crds.ts";

let plane: ControlPlane;
before(async () => {
  plane = await ControlPlane.start({ users: ["agent"] });
  await plane.installCrds();
});
after(() => plane.remove());

const PORTS = [{ name: "http", port: 80 }];
const IMPORTS = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" };
const SLICES = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" };

function imported(namespace: string, name: string): ApiReference {
  return { ...IMPORTS, metadata: { namespace, name } };
}

/** A namespace of one test: other tests use others. */
async function newNamespace(name: string): Promise<string> {
  await plane.admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return name;
}

test("An import is the same in both versions, with every field of mcs-api v0.5.2", async () => {
  const shop = await newNamespace("both-versions");
  const spec = {
    ipFamilies: ["IPv4"],
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    internalTrafficPolicy: "Local",
    trafficDistribution: "PreferSameZone",
  };
  const ports = [{ name: "http", protocol: "TCP", appProtocol: "http", port: 80 }];
  const object = importObject(`${shop}/web`, ["10.99.0.1"], ports, spec);
  await plane.admin.create(object);
  const old = { ...imported(shop, "web"), apiVersion: "multicluster.x-k8s.io/v1alpha1" };
  const expected = { type: "ClusterSetIP", ips: ["10.99.0.1"], ports, ...spec };
  assert.deepEqual((await plane.admin.get(imported(shop, "web"))).spec, expected);
  assert.deepEqual((await plane.admin.get(old)).spec, expected);

  const status = { clusters: [{ cluster: "c1" }], endpointSliceObjects: "Present" };
  await plane.admin.patch(old, { status }, "status");
  assert.deepEqual((await plane.admin.get(imported(shop, "web"))).status, status);
});

test("An export and a cluster's properties are kept in both versions", async () => {
  const shop = await newNamespace("exports");
  const spec = { exportedLabels: { a: "1" }, exportedAnnotations: { b: "2" } };
  const metadata = { namespace: shop, name: "web" };
  const kind = "ServiceExport";
  await plane.admin.create({ apiVersion: "multicluster.x-k8s.io/v1alpha1", kind, metadata, spec });
  const found = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind, metadata };
  assert.deepEqual((await plane.admin.get(found)).spec, spec);

  const name = "cluster.clusterset.k8s.io";
  const property = { kind: "ClusterProperty", metadata: { name } };
  const value = { value: "c1" };
  await plane.admin.create({ ...property, apiVersion: "about.k8s.io/v1beta1", spec: value });
  const read = await plane.admin.get({ ...property, apiVersion: "about.k8s.io/v1alpha1" });
  assert.deepEqual(read.spec, value);
});

test("An import that violates the schema is rejected", async () => {
  const shop = await newNamespace("schema");
  const refused = [
    importObject(`${shop}/a`, ["10.99.0.1"], PORTS, { type: "Mesh" }),
    importObject(`${shop}/b`, ["10.99.0.1", "fd00::1", "10.99.0.2"], PORTS),
    importObject(`${shop}/c`, ["10.99.0.1"], [{ name: "http" }]),
  ];
  for (const object of refused) await assert.rejects(plane.admin.create(object), { status: 422 });
  assert.deepEqual(await plane.admin.list({ ...IMPORTS, metadata: { namespace: shop } }), []);
});

test("A watch reports the creation, change and deletion of an object", async () => {
  const shop = await newNamespace("watched");
  const events: string[] = [];
  const watch = plane.admin.watch({ ...SLICES, metadata: { namespace: shop } });
  const slice = (ready: boolean) =>
    sliceObject("web-c1", `${shop}/web`, { cluster: "c1" }, PORTS, [
      { addresses: ["10.1.0.1"], conditions: { ready } },
    ]);
  await plane.admin.apply(slice(true));
  for await (const { type, object } of watch) {
    const [endpoint] = object.endpoints as { conditions: { ready: boolean } }[];
    events.push(`${type} ${object.metadata.name} ${endpoint?.conditions.ready}`);
    if (type === "ADDED") await plane.admin.apply(slice(false));
    if (type === "MODIFIED")
      await plane.admin.delete({ ...SLICES, metadata: { namespace: shop, name: "web-c1" } });
    if (type === "DELETED") break;
  }
  assert.deepEqual(events, ["ADDED web-c1 true", "MODIFIED web-c1 false", "DELETED web-c1 false"]);
});

test("Many objects are created, each once", async () => {
  const shop = await newNamespace("many");
  const names = Array.from({ length: 200 }, (_, i) => `web-${i}`);
  await plane.admin.createAll(names.map((n) => sliceObject(n, `${shop}/web`, {}, PORTS, [])));
  const found = await plane.admin.list({ ...SLICES, metadata: { namespace: shop } });
  assert.deepEqual(found.map(({ metadata }) => metadata.name).sort(), names.sort());
});

test("An update of an older resourceVersion is a conflict", async () => {
  const shop = await newNamespace("conflict");
  const old = await plane.admin.create(importObject(`${shop}/web`, ["10.99.0.1"], PORTS));
  await plane.admin.update({ ...old, spec: { type: "Headless", ports: PORTS } });
  await assert.rejects(plane.admin.update(old), { status: 409 });
});

test("A user has the rights of RBAC objects, and no others", async () => {
  await using agent = plane.client("agent");
  const path = "/api/v1/namespaces/default";
  assert.equal((await agent.request("GET", path)).status, 403);
  const metadata = { name: "reads-namespaces" };
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata };
  const rules = [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get"] }];
  await plane.admin.apply({ ...rbac, kind: "ClusterRole", rules });
  const subjects = [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "agent" }];
  const roleRef = { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", ...metadata };
  await plane.admin.apply({ ...rbac, kind: "ClusterRoleBinding", subjects, roleRef });
  // The API server's authoriser learns of it by a watch of its own.
  for (let i = 0; i < 500 && (await agent.request("GET", path)).status !== 200; i++);
  assert.equal((await agent.request("GET", path)).status, 200);
  assert.equal((await agent.request("DELETE", path)).status, 403);
});

test("When a namespace is deleted, its objects are deleted, and no others", async () => {
  const [shop, other] = [await newNamespace("ends"), await newNamespace("stays")];
  for (const namespace of [shop, other]) {
    await plane.admin.create(importObject(`${namespace}/web`, ["10.99.0.1"], PORTS));
    await plane.admin.create(sliceObject("web-c1", `${namespace}/web`, {}, PORTS, ["10.1.0.1"]));
  }
  await plane.deleteNamespace(shop);
  const namespacesOf = (objects: readonly { metadata: { namespace?: string } }[]) =>
    objects.map(({ metadata }) => metadata.namespace);
  assert.ok(!namespacesOf(await plane.admin.list(IMPORTS)).includes(shop));
  assert.ok(!namespacesOf(await plane.admin.list(SLICES)).includes(shop));
  assert.ok(namespacesOf(await plane.admin.list(IMPORTS)).includes(other));
  const gone = { apiVersion: "v1", kind: "Namespace", metadata: { name: shop } };
  await assert.rejects(plane.admin.get(gone), { status: 404 });
});

test("CRDs can serve one version only, can be deleted with their objects, and created again", async () => {
  const shop = await newNamespace("crds");
  await plane.admin.create(importObject(`${shop}/web`, ["10.99.0.1"], PORTS));
  const statusOf = async (version: string) => {
    const path = `/apis/multicluster.x-k8s.io/${version}/serviceimports`;
    return (await plane.admin.request("GET", path)).status;
  };
  await plane.installCrds({ versions: ["v1alpha1"] });
  assert.deepEqual([await statusOf("v1alpha1"), await statusOf("v1beta1")], [200, 404]);
  await plane.removeCrds();
  assert.deepEqual([await statusOf("v1alpha1"), await statusOf("v1beta1")], [404, 404]);
  await plane.installCrds();
  assert.deepEqual([await statusOf("v1alpha1"), await statusOf("v1beta1")], [200, 200]);
  assert.deepEqual(await plane.admin.list(IMPORTS), []);
});

test("The versions of a CRD have one schema", () => {
  for (const { spec, metadata } of crds()) {
    const [first, ...others] = spec.versions.map(({ schema }) => schema);
    assert.equal(others.length, 1, metadata.name);
    for (const other of others) assert.deepEqual(other, first, metadata.name);
  }
});
