import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { systemClock } from "../../common/clock.ts";
import type { ApiResource } from "../../common/kubernetes/api-resource.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import { field, textField } from "../../common/kubernetes/json.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { logLines } from "../support/log-lines.ts";
import { ControlPlane } from "./control-plane.ts";

const IMPORTS: ApiResource = {
  group: "multicluster.x-k8s.io",
  versions: ["v1beta1", "v1alpha1"],
  resource: "serviceimports",
  kind: "ServiceImport",
};
const CONFIG_MAPS: ApiResource = {
  group: "",
  versions: ["v1"],
  resource: "configmaps",
  kind: "ConfigMap",
};
const WEB = { namespace: "default", name: "web" };

let plane: ControlPlane;
let api: HttpApiServer;
let writer: ApiWriter;
before(async () => {
  plane = await ControlPlane.start();
  await plane.installCrds();
  const kubeconfig = plane.kubeconfig({ user: "admin" });
  const credentials = await Credentials.load({ kubeconfig, ...logLines(), clock: systemClock });
  api = new HttpApiServer(credentials, "test", systemClock);
  writer = new ApiWriter({ api, clock: systemClock, fieldManager: "clusterset-controller" });
});
after(async () => {
  await api.close();
  await plane.remove();
});

/** A ServiceImport of one port, with these labels. */
function importOf(name: string, labels: Record<string, string>, ips: string[] = []) {
  const spec = { type: "ClusterSetIP", ips, ports: [{ port: 80, protocol: "TCP" }] };
  return { metadata: { ...WEB, name, labels }, spec };
}

function labelsOf(object: unknown): unknown {
  return field(field(object, "metadata"), "labels");
}

test("fields of others stay, fields of ours that we name no more go, and what changes nothing is no write", async () => {
  const first = await writer.apply(IMPORTS, importOf("web", { ours: "1", passing: "1" }));
  assert.equal(first.meta.key, "default/web");
  const kind = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" };
  await plane.admin.patch({ ...kind, metadata: WEB }, { metadata: { labels: { theirs: "1" } } });
  const second = await writer.apply(IMPORTS, importOf("web", { ours: "2" }));
  assert.deepEqual(labelsOf(second.object), { ours: "2", theirs: "1" });
  const third = await writer.apply(IMPORTS, importOf("web", { ours: "2" }));
  assert.deepEqual(third.meta, second.meta);
});

test("what was seen in another state is not written over, and not made anew", async () => {
  const name = { ...WEB, name: "stale" };
  const { meta } = await writer.apply(IMPORTS, importOf("stale", { a: "1" }));
  const { meta: second } = await writer.apply(IMPORTS, importOf("stale", { a: "2" }), {
    seen: meta,
  });
  const again = (seen: typeof meta) =>
    writer.apply(IMPORTS, importOf("stale", { a: "3" }), { seen });
  await assert.rejects(again(meta), { reason: "write-conflict" });
  assert.deepEqual(labelsOf((await writer.get(IMPORTS, name))?.object), { a: "2" });
  await writer.delete(IMPORTS, name, second);
  await assert.rejects(again(second), { reason: "write-conflict" });
  assert.equal(await writer.get(IMPORTS, name), undefined);
  await writer.create(IMPORTS, importOf("stale", { a: "4" }));
  await assert.rejects(again(second), { reason: "write-conflict" });
});

test("a field that another owns is taken by force only", async () => {
  const other = new ApiWriter({ api, clock: systemClock, fieldManager: "other" });
  await writer.apply(IMPORTS, importOf("shared", { a: "1" }));
  const gently = other.apply(IMPORTS, importOf("shared", { a: "2" }), { force: false });
  await assert.rejects(gently, { reason: "write-conflict" });
  const taken = await other.apply(IMPORTS, importOf("shared", { a: "2" }));
  assert.deepEqual(labelsOf(taken.object), { a: "2" });
});

test("a status is applied beside the object, and leaves it alone", async () => {
  await writer.apply(IMPORTS, importOf("told", { a: "1" }, ["10.99.0.9"]));
  const status = { clusters: [{ cluster: "c1" }] };
  const metadata = { ...WEB, name: "told" };
  const manifest = { metadata, status };
  const { object } = await writer.apply(IMPORTS, manifest, { subresource: "status" });
  assert.deepEqual(field(object, "status"), status);
  assert.deepEqual(field(field(object, "spec"), "ips"), ["10.99.0.9"]);
  assert.deepEqual(labelsOf(object), { a: "1" });
  // And the other way round.
  const again = await writer.apply(IMPORTS, importOf("told", { a: "1" }, ["10.99.0.10"]));
  assert.deepEqual(field(again.object, "status"), status);
});

test("a deletion is of one object in one version", async () => {
  const { meta: first } = await writer.apply(CONFIG_MAPS, { metadata: WEB });
  const another = { ...first, uid: crypto.randomUUID() };
  await assert.rejects(writer.delete(CONFIG_MAPS, WEB, another), { reason: "write-conflict" });
  const changed = { metadata: WEB, data: { a: "1" } };
  const { meta: second } = await writer.apply(CONFIG_MAPS, changed);
  await assert.rejects(writer.delete(CONFIG_MAPS, WEB, first), { reason: "write-conflict" });
  assert.equal(await writer.delete(CONFIG_MAPS, WEB, second), true);
  assert.equal(await writer.delete(CONFIG_MAPS, WEB, second), false);
});

test("what is refused says why: wrong, there already, or nowhere to be", async () => {
  const wrong = { metadata: { ...WEB, name: "wrong" }, spec: { type: "Sideways", ports: [] } };
  await assert.rejects(writer.apply(IMPORTS, wrong), { reason: "invalid" });
  await writer.create(CONFIG_MAPS, { metadata: { ...WEB, name: "twice" } });
  const twice = writer.create(CONFIG_MAPS, { metadata: { ...WEB, name: "twice" } });
  await assert.rejects(twice, { reason: "write-conflict" });
  const nowhere = { metadata: { namespace: "nowhere", name: "web" } };
  await assert.rejects(writer.apply(CONFIG_MAPS, nowhere), { reason: "absent" });
  const metadata = { name: "going" };
  await plane.admin.create({ apiVersion: "v1", kind: "Namespace", metadata });
  await plane.admin.delete({ apiVersion: "v1", kind: "Namespace", metadata });
  const late = { metadata: { namespace: "going", name: "late" } };
  await assert.rejects(writer.apply(CONFIG_MAPS, late), { reason: "namespace-terminating" });
  await assert.rejects(writer.create(CONFIG_MAPS, late), { reason: "namespace-terminating" });
});

test("a kind is written in the version that is served, and not-served where there is none", async () => {
  const version = async (): Promise<string | undefined> =>
    textField((await writer.apply(IMPORTS, importOf("versions", {}))).object, "apiVersion");
  assert.equal(await version(), "multicluster.x-k8s.io/v1beta1");
  await plane.installCrds({ versions: ["v1alpha1"] });
  assert.equal(await version(), "multicluster.x-k8s.io/v1alpha1");
  await plane.removeCrds();
  await assert.rejects(version, { reason: "not-served" });
  assert.equal(await writer.get(CONFIG_MAPS, { ...WEB, name: "none" }), undefined);
  await plane.installCrds();
  assert.equal(await version(), "multicluster.x-k8s.io/v1alpha1");
});
