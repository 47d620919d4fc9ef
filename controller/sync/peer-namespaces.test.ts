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
  world.start();
  await world.pass(15_000);
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
  world.start();
  await world.pass(15_000);
  assert.deepEqual(importsOf(c2), ["shop/web"]);
  // They do not limit what the cluster imports from itself.
  assert.deepEqual(importsOf(c1), NAMES);
});
