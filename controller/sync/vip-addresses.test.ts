import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { FINE } from "../../test/doubles/memory/memory-api-server.ts";
import { Chance } from "../../test/generators/chance.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const READY = /^True Ready /;
const CONFLICT = /^False VIPConflict /;

// A rival may write every ServiceImport of the namespace `evil`, and nothing else.

function vipsOf(cluster: MemoryCluster, key: string): string[] {
  const ips = cluster.read("serviceimports", key, "spec", "ips");
  return Array.isArray(ips) ? ips.map(String) : [];
}

/** The import that the IPAddress of a VIP names. */
function holderOf(cluster: MemoryCluster, vip: string): string | undefined {
  const parent = cluster.read("ipaddresses", vip, "spec", "parentRef");
  if (parent === undefined) return undefined;
  return [at(parent, ["namespace"]), at(parent, ["name"])].join("/");
}

/** Clusters with shop/web, which c1 exports, the namespace `evil`, and c2, whose imports are looked at. */
async function stage(random?: () => number) {
  const { world, c2 } = await ControllerWorld.withExport(["c1", "c2"], random);
  c2.namespace("evil");
  await world.pass(5000);
  const [vip = ""] = vipsOf(c2, "shop/web");
  assert.notEqual(vip, "");
  return { world, c2, vip };
}

test("an older import that lists the VIP of another gets a condition, and the VIP stays, also after a restart", async () => {
  const { world, c2, vip } = await stage();
  assert.equal(holderOf(c2, vip), "shop/web");
  c2.importByHand("evil/old", [vip]);
  await c2.readyAfter(5000, CONFLICT, "evil/old");
  assert.match(c2.ready("shop/web"), READY);
  await c2.restart();
  await world.pass(40_000);
  assert.equal(holderOf(c2, vip), "shop/web");
  assert.deepEqual(vipsOf(c2, "shop/web"), [vip]);
  c2.importByHand("evil/old", ["241.0.0.200"]);
  await world.pass(5000);
  assert.equal(holderOf(c2, "241.0.0.200"), "evil/old");
  assert.match(c2.ready("evil/old"), READY);
});

test("of two authors who write the same VIP, the first gets the IPAddress", async () => {
  const { world, c2 } = await stage();
  c2.importByHand("shop/hand", ["241.0.0.77"]);
  c2.importByHand("evil/hand", ["241.0.0.77"]);
  await world.pass(5000);
  assert.equal(holderOf(c2, "241.0.0.77"), "shop/hand");
  assert.match(c2.ready("evil/hand"), CONFLICT);
});

test("a VIP that several imports list when the controller starts stays with none, until one remains", async () => {
  const { world, c2 } = await stage();
  await c2.stop();
  c2.importByHand("evil/hand", ["241.0.0.77"]);
  c2.importByHand("shop/hand", ["241.0.0.77"]);
  c2.start();
  await world.pass(40_000);
  assert.equal(holderOf(c2, "241.0.0.77"), undefined);
  for (const key of ["evil/hand", "shop/hand"]) assert.match(c2.ready(key), CONFLICT);
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
  c2.importByHand("shop/hand", ["241.0.0.77"]);
  world.cluster("c1").export("shop/web");
  await c2.readyAfter(10_000, CONFLICT, "shop/hand");
  const [other = ""] = vipsOf(c2, "shop/web");
  assert.notEqual(other, vip);
  assert.equal(holderOf(c2, other), "shop/web");
  c2.delete("IPAddress", "241.0.0.77");
  await world.pass(3000);
  assert.match(c2.ready("shop/hand"), READY);
});

test("an IPAddress that has lost its label gets it back, and the VIP stays", async () => {
  const { world, c2, vip } = await stage();
  const { spec } = c2.server.objects.get("ipaddresses", vip) ?? {};
  c2.server.objects.replace("ipaddresses", vip, { metadata: { name: vip }, spec }, "author");
  await c2.restart();
  await world.pass(40_000);
  const metadata = at(c2.server.objects.get("ipaddresses", vip), ["metadata", "labels"]);
  const managed = { "ipaddress.kubernetes.io/managed-by": "clusterset-controller" };
  assert.deepEqual(metadata, managed);
  assert.deepEqual(vipsOf(c2, "shop/web"), [vip]);
});

test("without IPAddresses, before Kubernetes 1.33, imports get VIPs, and a rival's is in conflict", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const c2 = world.cluster("c2");
  for (const { server } of world.clusters) server.unserved.add("ipaddresses");
  c2.namespace("evil");
  world.cluster("c1").offer("shop/web", ["10.1.0.7"]);
  await world.run(60_000);
  const vips = vipsOf(c2, "shop/web");
  assert.equal(vips.length, 1);
  c2.importByHand("evil/old", vips);
  await c2.readyAfter(5000, CONFLICT, "evil/old");
  assert.match(c2.ready("shop/web"), READY);
});

const RIVALS = ["a", "old", "z"];
const CLAIMS = [["241.0.0.77"], [], ["241.0.0.9"]];

/** `SEEDS=1,2,3`: other seeds. */
const SEEDS = process.env.SEEDS?.split(",").map(Number) ?? [1, 2, 3];

for (const seed of SEEDS) {
  test(`no sequence of a rival's writes moves a VIP, while controllers restart and others write (seed ${seed})`, async () => {
    const chance = new Chance(seed);
    const { world, c2, vip } = await stage(() => chance.next());
    c2.importByHand("shop/hand", ["241.0.0.77"]);
    await world.pass(5000);
    for (let i = 0; i < 60; i++) {
      const rival = `evil/${RIVALS[chance.below(3)]}`;
      const step = chance.next();
      if (step < 0.6) c2.importByHand(rival, CLAIMS[chance.below(4)] ?? [vip]);
      else if (step < 0.7) c2.delete("ServiceImport", rival);
      else if (step < 0.8) c2.importByHand("shop/web");
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

const KEY = "shop/hand";
const REFUSED =
  "vip-not-allowed: 198.51.100.7 is neither in --clusterset-cidr nor in --explicit-vip-cidrs.";

test("an import with a VIP that agents refuse says so in its condition, until its VIP is allowed", async () => {
  const { world, c2 } = ControllerWorld.withFlags("--explicit-vip-cidrs", "192.0.2.0/24");
  world.start();
  c2.importByHand(KEY, ["198.51.100.7"]);
  await c2.readyAfter(20_000, `False VIPNotAllowed ${REFUSED}`, KEY);
  assert.deepEqual(await c2.writesAfterRestart(60_000), [], "it is said once");
  c2.importByHand(KEY, ["192.0.2.7", "198.51.100.7"]);
  await c2.readyAfter(20_000, `True Ready ClusterSetIP 192.0.2.7. ${REFUSED}`, KEY);
  c2.importByHand(KEY, ["192.0.2.7"]);
  await c2.readyAfter(20_000, "True Ready ClusterSetIP 192.0.2.7.", KEY);
});

test("an import with a VIP that no agent can program says so, whatever ranges are allowed", async () => {
  const { world, c2 } = ControllerWorld.withFlags("--explicit-vip-cidrs", "0.0.0.0/0,::/0");
  world.start();
  c2.importByHand(KEY, ["169.254.169.254"]);
  const reserved = "vip-reserved: 169.254.169.254 cannot be a VIP.";
  await c2.readyAfter(20_000, `False VIPNotAllowed ${reserved}`, KEY);
  c2.importByHand(KEY, ["2001:db8::7"]);
  await c2.readyAfter(20_000, /^False IPFamilyNotSupported family-off: 2001:db8::7 /, KEY);
});

test("an export that adopts an import with a refused VIP keeps it, and is not ready", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  world.start();
  c2.importByHand(KEY, ["198.51.100.7"]);
  c1.offer(KEY, ["10.1.0.7"]);
  await c2.readyAfter(20_000, /^False VIPNotAllowed vip-not-allowed: 198\.51\.100\.7 /, KEY);
  assert.deepEqual(c2.imported(), { [KEY]: "vip 10.1.0.7" });
});

/** Imports in a range of 254 addresses: some have the same first candidate. */
const NAMES = Array.from({ length: 60 }, (_, i) => `shop/web-${i}`);
/** With these seeds a VIP was allocated twice when it was not kept after a failed write. `SEEDS=1,2,3`: other seeds. */
const LATE_SEEDS = process.env.SEEDS?.split(",").map(Number) ?? [20, 23, 26];

for (const seed of LATE_SEEDS) {
  test(`imports never share a VIP, even if an unanswered write was done and is reported late (seed ${seed})`, async () => {
    const chance = new Chance(seed);
    const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"], () => chance.next());
    await world.run(20_000);
    c2.server.weather = { delay: 1400, lost: 0.2 };
    for (const [i, key] of NAMES.entries()) c1.offer(key, [`10.1.0.${i + 1}`]);
    await world.pass(20_000);
    c2.server.weather = FINE;
    await world.pass(60_000);
    assert.equal(Object.keys(c2.imported()).length, NAMES.length);
    assert.deepEqual(c2.sharedVips(), []);
  });
}

test("an import with one VIP that waits for one of the other family gets it as soon as another import gives it back", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  c2.ranges = "fd00:241::/127,241.0.0.0/24";
  for (const key of ["shop/a", "shop/b"]) {
    c1.serveAs(key, ["10.1.0.7"], { families: ["IPv4", "IPv6"] });
    c1.export(key);
  }
  await world.run(20_000);
  const families = (key: string) => vipsOf(c2, key).length;
  const [served = "", waiting = ""] =
    families("shop/a") === 2 ? ["shop/a", "shop/b"] : ["shop/b", "shop/a"];
  assert.deepEqual([families(served), families(waiting)], [2, 1]);
  assert.match(c2.ready(waiting), /^True Ready .* range-exhausted: no free IPv6 address\./);
  c1.delete("ServiceExport", served);
  await world.pass(3000);
  assert.equal(families(waiting), 2);
});

// All that the range has.
const VIPS = ["241.0.0.1", "241.0.0.2"];
const SERVICE = { ipFamilies: ["IPv4"], ports: [{ port: 80, protocol: "TCP" }] };
const IMPORT = { type: "ClusterSetIP", ports: [] };

for (const [what, resource, holders] of [
  ["a Node no longer has the range", "nodes", [{ podCIDRs: ["241.0.0.0/16"] }]],
  ["a ServiceCIDR no longer has the range", "servicecidrs", [{ cidrs: ["241.0.0.0/29"] }]],
  ["a Service has ended", "services", VIPS.map((ip) => ({ ...SERVICE, clusterIPs: [ip] }))],
  [
    "an IPAddress of another program has ended",
    "ipaddresses",
    [1, 2].map((i) => ({ parentRef: { resource: "services", namespace: "demo", name: `${i}` } })),
  ],
  ["another import has ended", "serviceimports", VIPS.map((ip) => ({ ...IMPORT, ips: [ip] }))],
] as const) {
  test(`an import that waits for a VIP gets one as soon as ${what}`, async () => {
    const { world, c1, c2 } = ControllerWorld.withFlags();
    c2.ranges = "241.0.0.0/30";
    const isNamespaced = resource === "services" || resource === "serviceimports";
    const name = (i: number) => (resource === "ipaddresses" ? (VIPS[i] ?? "") : `held-${i}`);
    const of = (i: number) => (isNamespaced ? `shop/${name(i)}` : name(i));
    for (const [i, spec] of holders.entries()) c2.edit(resource, of(i), { spec });
    await world.run(5000);
    c1.offer(KEY, ["10.1.0.7"]);
    await c2.readyAfter(60_000, /^False Pending range-exhausted: /, KEY);
    c2.server.objects.delete(resource, of(0));
    await c2.readyAfter(3000, /^True Ready ClusterSetIP 241\.0\.0\.\d+\.$/, KEY);
  });
}

test("a namespace that exports more than a range has room for leaves some to others, which keep them over a restart; its import says why, and gets one when there are more", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  for (const cluster of world.clusters) cluster.namespace("bank");
  c2.ranges = "241.0.0.0/27";
  const greedy = Array.from({ length: 60 }, (_, i) => `shop/web-${i}`);
  for (const key of greedy) c1.offer(key, ["10.1.0.7"]);
  await world.run(20_000);
  const served = (keys: readonly string[]) =>
    keys.filter((key) => c2.imported()[key]?.startsWith("vip"));
  assert.equal(served(greedy).length, 24, "of 30");
  const waiting = greedy.filter((key) => !served(greedy).includes(key));
  const share = /^False Pending range-share: this namespace has at least four/;
  assert.match(c2.ready(waiting[0]), share);
  const others = ["bank/a", "bank/b", "bank/c"];
  for (const key of others) c1.offer(key, ["10.1.0.8"]);
  await world.pass(5000);
  assert.deepEqual(served(others), others);
  const before = served([...greedy, ...others]);
  await c2.restart();
  await world.pass(20_000);
  assert.deepEqual(served([...greedy, ...others]), before);
  // With three of its own fewer and one of another, it has 21 and there are seven free.
  const given = served(greedy).slice(0, 3);
  for (const key of [...given, "bank/a"]) c1.delete("ServiceExport", key);
  await world.pass(5000);
  assert.equal(served(greedy).length, 23);
  assert.ok(served(waiting).length >= 2);
});
