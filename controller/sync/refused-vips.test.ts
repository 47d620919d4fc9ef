import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { type MemoryCluster, worldWith } from "../../test/stages/controller-world.ts";

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
function readyOf({ server }: MemoryCluster): string {
  const conditions = at(server.objects.get("serviceimports", KEY), ["status", "conditions"]);
  const [ready] = Array.isArray(conditions) ? conditions : [];
  return ["status", "reason", "message"].map((name) => at(ready, [name])).join(" ");
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
