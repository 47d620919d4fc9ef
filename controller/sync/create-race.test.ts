import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const WRITTEN = {
  kind: "ServiceImport",
  metadata: { namespace: "shop", name: "web" },
  spec: { type: "ClusterSetIP", ips: ["241.0.0.77"], ports: [{ port: 8443, protocol: "TCP" }] },
};

/** Calls `appear` right before the first creation of an object reaches the API server. */
function beforeCreation({ server }: MemoryCluster, kind: string, appear: () => void): void {
  const request = server.request.bind(server);
  let isFirst = true;
  server.request = (asked) => {
    const creates = asked.write?.method === "PATCH" && asked.path.includes(`/${kind}/`);
    if (creates && !asked.path.includes("/status") && isFirst) {
      isFirst = false;
      appear();
    }
    return request(asked);
  };
}

test("an import that a user creates while the controller creates it is adopted with its VIP, and released when the export is gone", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const cluster of world.clusters) cluster.namespace("shop");
  c1.offer("shop/web", ["10.1.0.7"]);
  beforeCreation(c2, "serviceimports", () => c2.apply(WRITTEN));
  world.start();
  await world.pass(20_000);
  const { objects } = c2.server;
  const adopted = objects.get("serviceimports", "shop/web");
  assert.deepEqual(at(adopted, ["spec", "ips"]), ["241.0.0.77"]);
  assert.equal(at(adopted, ["metadata", "annotations", "clusterset-proxy.io/import"]), "adopted");
  c1.delete("ServiceExport", "shop/web");
  await world.pass(20_000);
  assert.deepEqual(objects.get("serviceimports", "shop/web")?.spec, WRITTEN.spec);
});

test("a slice under the name of an imported one, without its labels, is taken over", async () => {
  const world = await ControllerWorld.withExport(["c1", "c2"]);
  const [, c2] = world.clusters;
  const { objects } = c2.server;
  const [slice] = objects.list("endpointslices").filter((object) => isImported(object));
  assert.ok(slice);
  const { name } = slice.metadata as { name: string };
  const labels = { "endpointslice.kubernetes.io/managed-by": "another" };
  objects.apply(
    "endpointslices",
    `shop/${name}`,
    { kind: "EndpointSlice", metadata: { namespace: "shop", name, labels } },
    "another",
  );
  await world.pass(20_000);
  assert.ok(isImported(objects.get("endpointslices", `shop/${name}`)));
});

test("a record that lost its label is published again", async () => {
  const world = await ControllerWorld.withExport(["c1", "c2"]);
  const [c1] = world.clusters;
  const { objects } = c1.server;
  const key = "clusterset-registry-c1/web.shop";
  const record = objects.get("serviceimports", key);
  assert.ok(record);
  const bare = structuredClone(record);
  (bare.metadata as Record<string, unknown>).labels = {};
  objects.replace("serviceimports", key, bare, "another");
  await world.pass(20_000);
  const label = ["metadata", "labels", "clusterset-proxy.io/record"];
  assert.equal(at(objects.get("serviceimports", key), label), "web.shop");
});

function isImported(slice: unknown): boolean {
  const label = (name: string) => at(slice, ["metadata", "labels", name]);
  return (
    label("endpointslice.kubernetes.io/managed-by") === "clusterset-controller" &&
    label("multicluster.kubernetes.io/source-cluster") === "c1"
  );
}
