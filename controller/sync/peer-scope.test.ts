import assert from "node:assert/strict";
import { test } from "node:test";
import { POD_RANGES } from "../../test/generators/pod-ranges.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const ALLOWED = "clusterset-proxy.io/allowed-namespaces";
const DENIED = "clusterset-proxy.io/denied-namespaces";
const NAMES = ["kube-system/dns", "shop/web", "team-a/api", "team-b/api"];

/** Both clusters have all namespaces, and c1 exports one Service in each. */
function fill(world: ControllerWorld): readonly [MemoryCluster, MemoryCluster] {
  const [c1, c2] = [world.cluster("c1"), world.cluster("c2")];
  for (const [i, key] of NAMES.entries()) {
    const [namespace = ""] = key.split("/");
    for (const cluster of world.clusters) cluster.namespace(namespace);
    c1.offer(key, [`10.1.0.${i + 1}`]);
  }
  return [c1, c2];
}

function importsOf(cluster: MemoryCluster): string[] {
  return Object.keys(cluster.imported()).sort();
}

test("annotations on a peer's Secret say in which namespaces it may export, and changes apply", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [, c2] = fill(world);
  await world.run(15_000);
  assert.deepEqual(importsOf(c2), NAMES);
  const scopes: readonly [Record<string, string>, readonly string[]][] = [
    [{ [ALLOWED]: "shop,team-*" }, ["shop/web", "team-a/api", "team-b/api"]],
    [{ [ALLOWED]: "shop, team-*", [DENIED]: "team-b" }, ["shop/web", "team-a/api"]],
    [{ [DENIED]: "kube-*" }, ["shop/web", "team-a/api", "team-b/api"]],
    // Invalid: everything stays as it was.
    [{ [DENIED]: "Shop" }, ["shop/web", "team-a/api", "team-b/api"]],
    [{ [ALLOWED]: "" }, ["shop/web", "team-a/api", "team-b/api"]],
    [{ [ALLOWED]: "none" }, []],
    [{}, NAMES],
  ];
  for (const [scope, names] of scopes) {
    c2.introduce("c1", undefined, scope);
    await world.pass(10_000);
    assert.deepEqual(importsOf(c2), names, JSON.stringify(scope));
    const refused = c2.metrics.refusedOf("c1")["namespace-not-allowed"] ?? 0;
    assert.equal(refused, NAMES.length - names.length);
  }
});

test("on a hub the annotations are on the namespace of the registry", async () => {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = fill(world);
  const name = "clusterset-registry-c1";
  const labels = { "clusterset-proxy.io/registry": "c1" };
  const annotations = { ...POD_RANGES, [ALLOWED]: "shop" };
  const metadata = { name, labels, annotations };
  world.hub?.objects.apply("namespaces", name, { kind: "Namespace", metadata }, "author");
  await world.run(15_000);
  assert.deepEqual(importsOf(c2), ["shop/web"]);
  // They do not limit what the cluster imports from itself.
  assert.deepEqual(importsOf(c1), NAMES);
});

const NAMESPACE = "clusterset-registry-c1";
const REFUSED = 'refused_parts{from="member",reason="outside-endpoint-cidrs"}';

/** Two members of a hub, of which c1 exports two endpoints, one in each of two ranges. */
async function start() {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  assert.ok(c1 && c2 && world.hub);
  const { objects } = world.hub;
  for (const cluster of world.clusters) cluster.namespace("shop");
  c1.offer("shop/web", ["10.1.0.7", "10.9.0.9"]);
  const declare = (ranges: string): void => {
    const annotations = { "clusterset-proxy.io/endpoint-cidrs": ranges };
    const labels = { "clusterset-proxy.io/registry": "c1" };
    const metadata = { name: NAMESPACE, labels, annotations };
    objects.apply("namespaces", NAMESPACE, { kind: "Namespace", metadata }, "author");
  };
  return { world, c1, c2, declare };
}

test("on a hub the ranges declared on a namespace limit endpoints, and changes apply", async () => {
  const { world, c2, declare } = await start();
  declare("10.1.0.0/16");
  await world.run(15_000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
  assert.match(await c2.metrics.text(), new RegExp(`${REFUSED} 1\n`));
  declare("10.1.0.0/16,10.9.0.0/16");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7 10.9.0.9" });
  declare("everything");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7 10.9.0.9" }, "as it was");
  declare("10.9.0.0/16");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.9.0.9" });
});

test("a member with invalid ranges after a restart keeps its imports", async () => {
  const { world, c2, declare } = await start();
  await world.run(15_000);
  const imported = { "shop/web": "vip 10.1.0.7 10.9.0.9" };
  assert.deepEqual(c2.imported(), imported);
  declare("everything");
  await c2.restart();
  await world.pass(20_000);
  assert.deepEqual(c2.imported(), imported);
  declare("10.1.0.0/16");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
});

test("imports of a deleted namespace are not counted, those of a recreated one are", async () => {
  const world = await ControllerWorld.withExport(["c1", "c2"]);
  const [, c2] = world.clusters;
  const counted = async () =>
    /clusterset_controller_imports\{reason="exported"\} (\d+)/.exec(await c2.metrics.text())?.[1];
  assert.equal(await counted(), "1");
  for (const kind of ["serviceimports", "endpointslices"]) {
    for (const { metadata } of c2.server.objects.list(kind)) {
      const { namespace, name } = metadata as { namespace: string; name: string };
      c2.server.objects.delete(kind, `${namespace}/${name}`);
    }
  }
  c2.server.objects.delete("namespaces", "shop");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), {});
  assert.equal(await counted(), "0");
  c2.namespace("shop");
  await world.pass(5000);
  assert.equal(await counted(), "1");
});
