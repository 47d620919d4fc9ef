import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { json } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { field, textField } from "../../api/parse/fields.ts";
import { systemClock } from "../../common/clock.ts";
import { Credentials } from "../../common/kubernetes/credentials.ts";
import { HttpApiServer } from "../../common/kubernetes/http-api-server.ts";
import { CONFIG_MAPS, SERVICE_IMPORTS as IMPORTS } from "../../common/kubernetes/kinds.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { logLines } from "../doubles/log-lines.ts";
import { manifest } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { apiServerFiles } from "./components.ts";
import { ControlPlane } from "./control-plane.ts";

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

test("fields of other managers stay, our fields that are no longer applied are deleted, and an apply without changes is no write", async () => {
  const first = await writer.apply(IMPORTS, importOf("web", { ours: "1", passing: "1" }));
  assert.equal(first.meta.key, "default/web");
  const kind = { apiVersion: "multicluster.x-k8s.io/v1beta1", kind: "ServiceImport" };
  await plane.admin.patch({ ...kind, metadata: WEB }, { metadata: { labels: { theirs: "1" } } });
  const seen = (await writer.get(IMPORTS, WEB))?.meta;
  assert.ok(seen);
  const second = await writer.apply(IMPORTS, importOf("web", { ours: "2" }), { seen });
  assert.deepEqual(labelsOf(second.object), { ours: "2", theirs: "1" });
  const third = await writer.apply(IMPORTS, importOf("web", { ours: "2" }), {
    seen: second.meta,
  });
  assert.deepEqual(third.meta, second.meta);
});

test("an apply that creates an object never overwrites one, and the fields it creates are deleted by a later apply without them", async () => {
  const imported = importOf("once", { ours: "1" });
  const { metadata } = imported;
  for (const [resource, apiVersion, manifest] of [
    [IMPORTS, "multicluster.x-k8s.io/v1beta1", imported],
    [CONFIG_MAPS, "v1", { metadata }],
  ] as const) {
    const theirs = { ...manifest, metadata: { ...metadata, labels: { theirs: "1" } } };
    const object = { apiVersion, kind: resource.kind, ...theirs };
    await plane.admin.create(object);
    await assert.rejects(writer.apply(resource, manifest), { reason: "write-conflict" });
    const kept = await writer.get(resource, manifest.metadata);
    assert.deepEqual(labelsOf(kept?.object), { theirs: "1" });
    await plane.admin.delete(object);
    const { meta } = await writer.apply(resource, manifest);
    const { labels: _, ...bare } = metadata;
    const after = await writer.apply(resource, { ...manifest, metadata: bare }, { seen: meta });
    assert.equal(labelsOf(after.object), undefined);
  }
});

test("of ten applies that create an object at once, one succeeds and nine conflict", async () => {
  const tries = Array.from({ length: 10 }, (_, i) =>
    writer.apply(IMPORTS, importOf("ten", { number: `${i}` })),
  );
  const results = await Promise.allSettled(tries);
  const created = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  assert.equal(created.length, 1);
  const reasons = results.flatMap((one): unknown[] =>
    one.status === "rejected" ? [field(one.reason, "reason")] : [],
  );
  assert.deepEqual([...new Set(reasons)], ["write-conflict"]);
  const found = await writer.get(IMPORTS, { ...WEB, name: "ten" });
  assert.deepEqual(labelsOf(found?.object), labelsOf(created[0]?.object));
});

test("an object that was read in another version is neither overwritten nor created", async () => {
  const name = { ...WEB, name: "stale" };
  const { meta } = await writer.apply(IMPORTS, importOf("stale", { a: "1" }));
  const apply = (a: string, seen: typeof meta) =>
    writer.apply(IMPORTS, importOf("stale", { a }), { seen });
  const { meta: second } = await apply("2", meta);
  const again = (seen: typeof meta) => apply("3", seen);
  await assert.rejects(again(meta), { reason: "write-conflict" });
  assert.deepEqual(labelsOf((await writer.get(IMPORTS, name))?.object), { a: "2" });
  await writer.delete(IMPORTS, name, second);
  await assert.rejects(again(second), { reason: "write-conflict" });
  assert.equal(await writer.get(IMPORTS, name), undefined);
  await writer.create(IMPORTS, importOf("stale", { a: "4" }));
  await assert.rejects(again(second), { reason: "write-conflict" });
});

test("a field of another manager is overwritten only with force", async () => {
  const other = new ApiWriter({ api, clock: systemClock, fieldManager: "other" });
  const { meta: seen } = await writer.apply(IMPORTS, importOf("shared", { a: "1" }));
  const changed = importOf("shared", { a: "2" });
  const gently = other.apply(IMPORTS, changed, { seen, force: false });
  await assert.rejects(gently, { reason: "write-conflict" });
  const taken = await other.apply(IMPORTS, changed, { seen });
  assert.deepEqual(labelsOf(taken.object), { a: "2" });
});

test("a status is applied separately, and does not change the object", async () => {
  const first = importOf("told", { a: "1" }, ["10.99.0.9"]);
  const { meta: seen } = await writer.apply(IMPORTS, first);
  const status = { clusters: [{ cluster: "c1" }] };
  const told = { metadata: { ...WEB, name: "told" }, status };
  const { object, meta } = await writer.apply(IMPORTS, told, { seen, subresource: "status" });
  assert.deepEqual(field(object, "status"), status);
  assert.deepEqual(field(field(object, "spec"), "ips"), ["10.99.0.9"]);
  assert.deepEqual(labelsOf(object), { a: "1" });
  // And the other way round.
  const other = importOf("told", { a: "1" }, ["10.99.0.10"]);
  const again = await writer.apply(IMPORTS, other, { seen: meta });
  assert.deepEqual(field(again.object, "status"), status);
});

test("clusters of a status are stored in the order in which they are applied", async () => {
  const metadata = { ...WEB, name: "ordered" };
  let { meta: seen } = await writer.apply(IMPORTS, importOf("ordered", {}));
  for (const ids of ["c1 c2", "c3 c1 c2", "c2 c3 c1", "c1 c3"]) {
    const status = { clusters: ids.split(" ").map((cluster) => ({ cluster })) };
    const manifest = { metadata, status };
    const written = await writer.apply(IMPORTS, manifest, { seen, subresource: "status" });
    assert.deepEqual(field(written.object, "status"), status);
    seen = written.meta;
  }
});

test("a deletion applies to one object in one version", async () => {
  const { meta: first } = await writer.apply(CONFIG_MAPS, { metadata: WEB });
  const another = { ...first, uid: crypto.randomUUID() };
  await assert.rejects(writer.delete(CONFIG_MAPS, WEB, another), { reason: "write-conflict" });
  const changed = { metadata: WEB, data: { a: "1" } };
  const { meta: second } = await writer.apply(CONFIG_MAPS, changed, { seen: first });
  await assert.rejects(writer.delete(CONFIG_MAPS, WEB, first), { reason: "write-conflict" });
  assert.equal(await writer.delete(CONFIG_MAPS, WEB, second), true);
  assert.equal(await writer.delete(CONFIG_MAPS, WEB, second), false);
});

test("an error names the reason for a rejection: invalid, existing, or without its namespace", async () => {
  const wrong = { metadata: { ...WEB, name: "wrong" }, spec: { type: "Sideways", ports: [] } };
  await assert.rejects(writer.apply(IMPORTS, wrong), { reason: "invalid" });
  await writer.create(CONFIG_MAPS, { metadata: { ...WEB, name: "twice" } });
  const twice = writer.create(CONFIG_MAPS, { metadata: { ...WEB, name: "twice" } });
  await assert.rejects(twice, { reason: "write-conflict" });
  const nowhere = { metadata: { namespace: "nowhere", name: "web" } };
  await assert.rejects(writer.apply(CONFIG_MAPS, nowhere), { reason: "absent" });
  const going = manifest("Namespace", "going");
  await plane.admin.create(going);
  await plane.admin.delete(going);
  const late = { metadata: { namespace: "going", name: "late" } };
  await assert.rejects(writer.apply(CONFIG_MAPS, late), { reason: "namespace-terminating" });
  await assert.rejects(writer.create(CONFIG_MAPS, late), { reason: "namespace-terminating" });
});

/** Calls this webhook for each ConfigMap that is created, as long as `during` takes. */
async function withWebhook(
  kind: "Mutating" | "Validating",
  webhook: object,
  during: () => Promise<void>,
): Promise<void> {
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: "under-test" },
  };
  const rule = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
  const common = {
    ...{ name: "under-test.example.com", sideEffects: "None", failurePolicy: "Fail" },
    admissionReviewVersions: ["v1"],
    rules: [{ ...rule, operations: ["CREATE"] }],
  };
  await plane.admin.create({ ...configuration, webhooks: [{ ...common, ...webhook }] });
  try {
    await during();
  } finally {
    await plane.admin.delete(configuration);
  }
}

/** The reason for which a ConfigMap is rejected, once the API server knows the webhook. */
async function rejectionOf(name: string): Promise<string | undefined> {
  return eventually(async () => {
    const object = { metadata: { ...WEB, name } };
    const { meta, fault } = await writer.apply(CONFIG_MAPS, object).then(
      (applied) => ({ meta: applied.meta, fault: undefined }),
      (thrown: unknown) => ({ meta: undefined, fault: thrown }),
    );
    if (meta !== undefined) await writer.delete(CONFIG_MAPS, object.metadata, meta);
    assert.equal(meta, undefined);
    return textField(fault, "reason");
  });
}

test("a webhook that takes longer than a write is a rejection of that write, not an outage", async () => {
  // Accepts connections, and never answers.
  const hanging = createServer().listen(0, "127.0.0.1");
  await once(hanging, "listening");
  const { port } = hanging.address() as AddressInfo;
  const clientConfig = { url: `https://127.0.0.1:${port}/` };
  try {
    await withWebhook("Validating", { timeoutSeconds: 10, clientConfig }, async () => {
      assert.equal(await rejectionOf("slow"), "webhook-failed");
      const slow = writer.create(CONFIG_MAPS, { metadata: { ...WEB, name: "slow" } });
      await assert.rejects(slow, { reason: "webhook-failed" });
    });
  } finally {
    hanging.close();
  }
});

test("a webhook that denies with any status, or whose patch does not fit, is a rejection of that write", async () => {
  // It answers with the certificate of the API server, which is for this address, too.
  const { ca } = apiServerFiles(plane.directory);
  const key = readFileSync(ca.replace(/crt$/, "key"));
  const server = createHttpsServer({ key, cert: readFileSync(ca) }, (request, response) => {
    void json(request).then((review) => {
      const { uid, name } = field(review, "request") as { uid: string; name: string };
      const patch = Buffer.from('[{"op":"add","path":"/no/such","value":"1"}]').toString("base64");
      const denial = { allowed: false, status: { code: Number(name.slice(1)), message: "no" } };
      const answer = name === "unfit" ? { allowed: true, patchType: "JSONPatch", patch } : denial;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ ...(review as object), response: { uid, ...answer } }));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const caBundle = readFileSync(ca).toString("base64");
  const clientConfig = { url: `https://127.0.0.1:${port}/`, caBundle };
  try {
    await withWebhook("Mutating", { clientConfig }, async () => {
      for (const name of ["c401", "c404", "c409", "c429", "c500", "c503"])
        assert.equal(await rejectionOf(name), "refused", name);
      assert.equal(await rejectionOf("unfit"), "webhook-failed");
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test("a kind is written in the served version, and the result is not-served if there is none", async () => {
  const version = async (): Promise<string | undefined> => {
    const { meta, object } = await writer.apply(IMPORTS, importOf("versions", {}));
    await writer.delete(IMPORTS, { ...WEB, name: "versions" }, meta);
    return textField(object, "apiVersion");
  };
  assert.equal(await version(), "multicluster.x-k8s.io/v1beta1");
  await plane.installCrds({ versions: ["v1alpha1"] });
  assert.equal(await version(), "multicluster.x-k8s.io/v1alpha1");
  await plane.removeCrds();
  await assert.rejects(version, { reason: "not-served" });
  assert.equal(await writer.get(CONFIG_MAPS, { ...WEB, name: "none" }), undefined);
  await plane.installCrds();
  assert.equal(await version(), "multicluster.x-k8s.io/v1alpha1");
});
