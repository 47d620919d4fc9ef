import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { Chance } from "../../test/generators/chance.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

// A rival may write every ServiceImport of the namespace `evil`, and nothing else.

/** An import that a person wrote, as it stands afterwards. */
function write(cluster: MemoryCluster, key: string, ips: readonly string[]): void {
  const [namespace = "", name = ""] = key.split("/");
  cluster.apply({
    kind: "ServiceImport",
    metadata: { namespace, name },
    spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }], ips },
  });
}

function vipsOf(cluster: MemoryCluster, key: string): string[] {
  const ips = at(cluster.server.objects.get("serviceimports", key), ["spec", "ips"]);
  return Array.isArray(ips) ? ips.map(String) : [];
}

/** The import that the IPAddress of a VIP names. */
function holderOf(cluster: MemoryCluster, vip: string): string | undefined {
  const parent = at(cluster.server.objects.get("ipaddresses", vip), ["spec", "parentRef"]);
  if (parent === undefined) return undefined;
  return [at(parent, ["namespace"]), at(parent, ["name"])].join("/");
}

function readyOf(cluster: MemoryCluster, key: string): unknown {
  const { status, reason } = cluster.condition("serviceimports", key);
  return status && [status, reason];
}

/** Clusters with shop/web, which c1 exports, the namespace `evil`, and c2, whose imports are looked at. */
async function stage(random?: () => number) {
  const world = await ControllerWorld.withExport(["c1", "c2"], random);
  const c2 = world.cluster("c2");
  c2.namespace("evil");
  await world.pass(5000);
  const [vip = ""] = vipsOf(c2, "shop/web");
  assert.notEqual(vip, "");
  return { world, c2, vip };
}

test("an older import that lists the VIP of another gets a condition, and the VIP stays, also after a restart", async () => {
  const { world, c2, vip } = await stage();
  assert.equal(holderOf(c2, vip), "shop/web");
  write(c2, "evil/old", [vip]);
  await world.pass(5000);
  assert.deepEqual(readyOf(c2, "evil/old"), ["False", "VIPConflict"]);
  assert.deepEqual(readyOf(c2, "shop/web"), ["True", "Ready"]);
  await c2.restart();
  await world.pass(40_000);
  assert.equal(holderOf(c2, vip), "shop/web");
  assert.deepEqual(vipsOf(c2, "shop/web"), [vip]);
  write(c2, "evil/old", ["241.0.0.200"]);
  await world.pass(5000);
  assert.equal(holderOf(c2, "241.0.0.200"), "evil/old");
  assert.deepEqual(readyOf(c2, "evil/old"), ["True", "Ready"]);
});

test("of two authors who write the same VIP, the first gets the IPAddress", async () => {
  const { world, c2 } = await stage();
  write(c2, "shop/hand", ["241.0.0.77"]);
  write(c2, "evil/hand", ["241.0.0.77"]);
  await world.pass(5000);
  assert.equal(holderOf(c2, "241.0.0.77"), "shop/hand");
  assert.deepEqual(readyOf(c2, "evil/hand"), ["False", "VIPConflict"]);
});

test("a VIP that several imports list when the controller starts stays with none, until one remains", async () => {
  const { world, c2 } = await stage();
  await c2.stop();
  write(c2, "evil/hand", ["241.0.0.77"]);
  write(c2, "shop/hand", ["241.0.0.77"]);
  c2.start();
  await world.pass(40_000);
  assert.equal(holderOf(c2, "241.0.0.77"), undefined);
  for (const key of ["evil/hand", "shop/hand"]) {
    assert.deepEqual(readyOf(c2, key), ["False", "VIPConflict"]);
  }
  c2.delete("ServiceImport", "evil/hand");
  await world.pass(5000);
  assert.equal(holderOf(c2, "241.0.0.77"), "shop/hand");
});

test("a VIP with the IPAddress of another program is not used: an export gets another one, an author a condition", async () => {
  const { world, c2, vip } = await stage();
  c2.delete("ServiceExport", "shop/web");
  world.cluster("c1").delete("ServiceExport", "shop/web");
  await world.pass(5000);
  assert.equal(holderOf(c2, vip), undefined, "released with its import");
  for (const address of [vip, "241.0.0.77"]) {
    const parentRef = { resource: "services", namespace: "default", name: "kubernetes" };
    c2.apply({ kind: "IPAddress", metadata: { name: address }, spec: { parentRef } });
  }
  write(c2, "shop/hand", ["241.0.0.77"]);
  world.cluster("c1").export("shop/web");
  await world.pass(10_000);
  assert.deepEqual(readyOf(c2, "shop/hand"), ["False", "VIPConflict"]);
  const [other = ""] = vipsOf(c2, "shop/web");
  assert.notEqual(other, vip);
  assert.equal(holderOf(c2, other), "shop/web");
});

test("without IPAddresses, before Kubernetes 1.33, imports get VIPs, and a rival's is in conflict", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const c2 = world.cluster("c2");
  for (const { server } of world.clusters) server.unserved.add("ipaddresses");
  for (const cluster of world.clusters) cluster.namespace("shop");
  c2.namespace("evil");
  world.cluster("c1").serve("shop/web", ["10.1.0.7"]);
  world.cluster("c1").export("shop/web");
  await world.run(60_000);
  const vips = vipsOf(c2, "shop/web");
  assert.equal(vips.length, 1);
  write(c2, "evil/old", vips);
  await world.pass(5000);
  assert.deepEqual(readyOf(c2, "evil/old"), ["False", "VIPConflict"]);
  assert.deepEqual(readyOf(c2, "shop/web"), ["True", "Ready"]);
});

const RIVALS = ["a", "old", "z"];
const CLAIMS = [["241.0.0.77"], [], ["241.0.0.9"]];

/** `SEEDS=1,2,3`: other seeds. */
const SEEDS = process.env.SEEDS?.split(",").map(Number) ?? [1, 2, 3];

for (const seed of SEEDS) {
  test(`no sequence of a rival's writes moves a VIP, while controllers restart and others write (seed ${seed})`, async () => {
    const chance = new Chance(seed);
    const { world, c2, vip } = await stage(() => chance.next());
    write(c2, "shop/hand", ["241.0.0.77"]);
    await world.pass(5000);
    for (let i = 0; i < 60; i++) {
      const rival = `evil/${RIVALS[chance.below(3)]}`;
      const step = chance.next();
      if (step < 0.6) write(c2, rival, CLAIMS[chance.below(4)] ?? [vip]);
      else if (step < 0.7) c2.delete("ServiceImport", rival);
      else if (step < 0.8) write(c2, "shop/web", []);
      else if (step < 0.9) {
        c2.kill();
        c2.start();
      } else world.cluster("c1").serve("shop/web", [`10.1.0.${i + 1}`]);
      await world.pass(chance.next() * 4000);
      assert.equal(holderOf(c2, vip), "shop/web");
      assert.equal(holderOf(c2, "241.0.0.77"), "shop/hand");
    }
    await world.pass(60_000);
    assert.deepEqual(vipsOf(c2, "shop/web"), [vip]);
  });
}
