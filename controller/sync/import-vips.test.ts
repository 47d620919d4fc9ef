import assert from "node:assert/strict";
import { test } from "node:test";
import { FINE } from "../../test/doubles/memory/memory-api-server.ts";
import { Chance } from "../../test/generators/chance.ts";
import {
  ControllerWorld,
  type MemoryCluster,
  worldWith,
} from "../../test/stages/controller-world.ts";

const KEY = "shop/hand";

/** A user writes the VIPs of an import. */
function write(cluster: MemoryCluster, ...ips: readonly string[]): void {
  cluster.apply({
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "hand" },
    spec: { type: "ClusterSetIP", ports: [{ name: "http", port: 80, protocol: "TCP" }], ips },
  });
}

/** Status, reason and message of its condition Ready. */
function readyOf(cluster: MemoryCluster): string {
  const { status = "", reason = "", message = "" } = cluster.condition("serviceimports", KEY);
  return `${status} ${reason} ${message}`;
}

const NOT_ALLOWED = "is neither in --clusterset-cidr nor in --explicit-vip-cidrs.";

test("an import with a VIP that agents refuse says so in its condition, until its VIP is allowed", async () => {
  const { world, c2 } = worldWith("--explicit-vip-cidrs", "192.0.2.0/24");
  world.start();
  write(c2, "198.51.100.7");
  await world.pass(20_000);
  assert.equal(readyOf(c2), `False VIPNotAllowed vip-not-allowed: 198.51.100.7 ${NOT_ALLOWED}`);
  const since = c2.server.writes.length;
  await c2.restart();
  await world.pass(60_000);
  assert.deepEqual(c2.writesAfter(since), [], "it is said once");
  write(c2, "192.0.2.7", "198.51.100.7");
  await world.pass(20_000);
  assert.equal(
    readyOf(c2),
    `True Ready ClusterSetIP 192.0.2.7. vip-not-allowed: 198.51.100.7 ${NOT_ALLOWED}`,
  );
  write(c2, "192.0.2.7");
  await world.pass(20_000);
  assert.equal(readyOf(c2), "True Ready ClusterSetIP 192.0.2.7.");
});

test("an import with a VIP that no agent can program says so, whatever ranges are allowed", async () => {
  const { world, c2 } = worldWith("--explicit-vip-cidrs", "0.0.0.0/0,::/0");
  world.start();
  write(c2, "169.254.169.254");
  await world.pass(20_000);
  assert.equal(readyOf(c2), "False VIPNotAllowed vip-reserved: 169.254.169.254 cannot be a VIP.");
  write(c2, "2001:db8::7");
  await world.pass(20_000);
  assert.match(readyOf(c2), /^False IPFamilyNotSupported family-off: 2001:db8::7 /);
});

test("of what a node and its cluster use, nothing is said: a VIP in a Service range may be ready", async () => {
  const { world, c2 } = worldWith("--explicit-vip-cidrs", "10.96.0.0/16");
  world.start();
  write(c2, "10.96.0.77");
  await world.pass(20_000);
  assert.equal(readyOf(c2).trim(), "");
});

test("an export that adopts an import with a refused VIP keeps it, and is not ready", async () => {
  const { world, c1, c2 } = worldWith();
  world.start();
  write(c2, "198.51.100.7");
  c1.offer(KEY, ["10.1.0.7"]);
  await world.pass(20_000);
  assert.match(readyOf(c2), /^False VIPNotAllowed vip-not-allowed: 198\.51\.100\.7 /);
  assert.deepEqual(c2.imported(), { [KEY]: "vip 10.1.0.7" });
});

test("an import that waits for a VIP gets one as soon as another import gives it back", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  c2.ranges = "241.0.0.0/29";
  for (const cluster of world.clusters) cluster.namespace("shop");
  const names = Array.from({ length: 12 }, (_, i) => `shop/web-${i}`);
  for (const [i, key] of names.entries()) c1.offer(key, [`10.1.0.${i + 1}`]);
  await world.run(20_000);
  const isServed = (key: string): boolean => c2.imported()[key]?.startsWith("vip") === true;
  const served = names.filter(isServed);
  const waiting = names.filter((key) => !isServed(key));
  assert.ok(served.length > 1 && waiting.length > 1, `${served.length} of ${names.length}`);
  c1.delete("ServiceExport", served[0] ?? "");
  await world.pass(5_000);
  assert.equal(waiting.filter(isServed).length, 1);
  c1.delete("ServiceExport", served[1] ?? "");
  await world.pass(5_000);
  assert.equal(waiting.filter(isServed).length, Math.min(2, waiting.length));
  assert.deepEqual(c2.sharedVips(), []);
});

/** Imports in a range of 254 addresses: some have the same first candidate. */
const NAMES = Array.from({ length: 60 }, (_, i) => `shop/web-${i}`);
/** With these seeds a VIP was allocated twice when it was not kept after a failed write. `SEEDS=1,2,3`: other seeds. */
const SEEDS = process.env.SEEDS?.split(",").map(Number) ?? [20, 23, 26];

for (const seed of SEEDS) {
  test(`imports never share a VIP, even if an unanswered write was done and is reported late (seed ${seed})`, async () => {
    const chance = new Chance(seed);
    const world = new ControllerWorld(["c1", "c2"], () => chance.next());
    const [c1, c2] = world.clusters;
    for (const cluster of world.clusters) cluster.namespace("shop");
    await world.run(20_000);
    c2.server.weather = { delay: 1400, lost: 0.2 };
    for (const [i, key] of NAMES.entries()) {
      c1.offer(key, [`10.1.0.${i + 1}`]);
    }
    await world.pass(20_000);
    c2.server.weather = FINE;
    await world.pass(60_000);
    assert.equal(Object.keys(c2.imported()).length, NAMES.length);
    assert.deepEqual(c2.sharedVips(), []);
  });
}

test("an import that waits for a VIP gets one as soon as a Node no longer has the range", async () => {
  const { world, c1, c2 } = worldWith();
  c2.server.objects.apply(
    "nodes",
    "n1",
    { kind: "Node", metadata: { name: "n1" }, spec: { podCIDRs: ["241.0.0.0/16"] } },
    "author",
  );
  await world.run(5000);
  c1.offer(KEY, ["10.1.0.7"]);
  await world.pass(60_000);
  assert.match(readyOf(c2), /^False Pending range-exhausted: /);
  c2.server.objects.delete("nodes", "n1");
  await world.pass(3000);
  assert.match(readyOf(c2), /^True Ready ClusterSetIP 241\.0\.0\.\d+\.$/);
});
