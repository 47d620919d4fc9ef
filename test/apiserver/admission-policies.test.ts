import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { parseAllDocuments } from "yaml";
import { importObject, sliceObject } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiClient } from "./api-client.ts";
import { ControllerStage, type StagedCluster, USER } from "./controller-stage.ts";
import { boundTo, type RightsObject } from "./rights.ts";

const COMPONENT = new URL("../../deploy/components/admission/", import.meta.url);
const RBAC = "rbac.authorization.k8s.io";
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const TENANT = "tenant";

let stage: ControllerStage;
let c1: StagedCluster;
let tenant: ApiClient;
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1"], users: [TENANT] });
  c1 = stage.cluster("c1");
  const { admin } = c1.plane;
  await c1.namespace("shop");
  for (const object of [...tenantRights(), ...objectsIn("policies.yaml")])
    await admin.apply(object);
  const rights = objectsIn("controller.yaml") as RightsObject[];
  for (const object of boundTo(USER, "clusterset-controller", rights)) await admin.apply(object);
  tenant = c1.plane.client(TENANT);
  // The API server enforces a new policy after a moment.
  let host = 0;
  const another = () => apply(imports("probe", [`241.9.9.${++host}`]));
  await eventually(() => assert.rejects(another, /set-ips/), 30_000);
  await eventually(() => assert.rejects(apply(slice("probe-s", "probe")), /"import"/), 30_000);
});
after(() => stage[Symbol.asyncDispose]());

function objectsIn(file: string): object[] {
  const text = readFileSync(new URL(file, COMPONENT), "utf8");
  return parseAllDocuments(text).map((document) => document.toJS());
}

/** A tenant may write imports and slices in one namespace. */
function tenantRights(): object[] {
  const metadata = { namespace: "shop", name: TENANT };
  const verbs = ["get", "create", "patch", "update", "delete"];
  const rules = [
    { apiGroups: ["multicluster.x-k8s.io"], resources: ["serviceimports"], verbs },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs },
  ];
  const roleRef = { apiGroup: RBAC, kind: "Role", name: TENANT };
  const subjects = [{ apiGroup: RBAC, kind: "User", name: TENANT }];
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects },
  ];
}

const imports = (name: string, ips: readonly string[]) => importObject(`shop/${name}`, ips, [HTTP]);
const slice = (name: string, of: string) =>
  sliceObject(name, `shop/${of}`, { cluster: "c2" }, [HTTP], ["10.2.0.7"]);
const apply = (object: object) => tenant.apply(object);

test("a user without the verb cannot choose or change an import's address, and can remove it", async () => {
  await apply(imports("own", []));
  await assert.rejects(apply(imports("own", ["241.0.0.7"])), /tenant lacks the verb "set-ips"/);
  await c1.plane.admin.apply(imports("own", ["241.0.0.7"]));
  await apply(imports("own", ["241.0.0.7"]));
  await assert.rejects(apply(imports("own", ["241.0.0.8"])), /set-ips/);
  const previous = (ips: string) => {
    const annotations = { "clusterset-proxy.io/previous-ips": ips };
    return tenant.patch(imports("own", []) as never, { metadata: { annotations } });
  };
  await assert.rejects(previous("241.0.0.8"), /set-ips/);
  await previous("241.0.0.7");
  await tenant.patch(imports("own", []) as never, { spec: { ips: null } });
});

test("a user without the verb cannot write a slice of an import, nor make one of a slice", async () => {
  await assert.rejects(apply(slice("theirs", "web")), /tenant lacks the verb "import"/);
  const plain = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: "shop", name: "plain", labels: { app: "web" } },
    addressType: "IPv4",
    endpoints: [],
    ports: [HTTP],
  };
  await apply(plain);
  const labels = { "multicluster.kubernetes.io/service-name": "web" };
  await assert.rejects(tenant.patch(plain, { metadata: { labels } }), /"import"/);
});

test("a user with both verbs can do both", async () => {
  await c1.plane.admin.apply({
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { namespace: "shop", name: "importer" },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "clusterset-importer" },
    subjects: [{ apiGroup: RBAC, kind: "User", name: TENANT }],
  });
  await eventually(() => apply(imports("allowed", ["241.0.0.9"])), 30_000);
  await eventually(() => apply(slice("allowed-s", "allowed")), 30_000);
});

test("the controller exports and imports under the policies", async () => {
  await stage.start();
  await c1.offer("shop/web", "10.1.0.7");
  const { spec } = await c1.untilImported("shop/web", ["10.1.0.7"]);
  assert.equal((spec as { ips: string[] }).ips.length, 1);
});
