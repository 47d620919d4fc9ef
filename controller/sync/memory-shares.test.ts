import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const PUBLISHED = "True Ready Published to this cluster's registry.";

test("an export beyond its namespace's share of memory is not published, and its condition says why, until there is room", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  c1.localBytes = { ...c1.localBytes, serviceexports: 8000 };
  const exported = (name: string, length: number) =>
    c1.apply({
      ...{ kind: "ServiceExport", metadata: { namespace: "shop", name } },
      spec: { exportedAnnotations: { "example.com/notes": "x".repeat(length) } },
    });
  exported("old", 100);
  await world.run(5000);
  c1.offer("shop/web", ["10.1.0.1"]);
  exported("web", 5000);
  await world.pass(20_000);
  assert.equal(c1.ready("shop/web", "serviceexports"), PUBLISHED);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.1" });
  exported("old", 7000);
  await world.pass(20_000);
  assert.match(
    c1.ready("shop/web", "serviceexports"),
    /^False Failed Not published: .* Left out: too-much-memory\.$/,
  );
  assert.match(c1.events("ServiceExport", "Failed").join(), /too-much-memory/);
  const imports = [c1, c2].map((one) => one.imported());
  assert.deepEqual(imports, [{ "shop/web": "vip 10.1.0.1" }, {}]);
  exported("old", 100);
  await world.pass(120_000);
  assert.equal(c1.ready("shop/web", "serviceexports"), PUBLISHED);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.1" });
});

test("an import beyond its namespace's share of memory keeps its VIP and its user's spec, says so, and is followed when there is room", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  c1.localBytes = { ...c1.localBytes, serviceimports: 20_000 };
  c1.flags = ["--explicit-vip-cidrs", "1.2.3.0/24"];
  const write = (name: string, length: number, ...ips: readonly string[]) =>
    c1.importByHand(`shop/${name}`, ips, { note: "x".repeat(length) });
  write("old", 100);
  await world.run(5000);
  write("web", 5000, "1.2.3.4");
  c2.offer("shop/web", ["10.2.0.7", "10.2.0.8"]);
  await world.pass(20_000);
  assert.deepEqual(c1.imported()["shop/web"], "vip 10.2.0.7 10.2.0.8");
  const before = c1.ready();
  write("old", 17_000);
  await c1.readyAfter(20_000, `${before} Left out: too-much-memory.`);
  c2.serve("shop/web", ["10.2.0.8"]);
  write("rival", 10, "1.2.3.4");
  await c1.importAfter(20_000, "shop/web", "vip 10.2.0.8", "its endpoints follow");
  assert.match(c1.ready("shop/rival"), /vip-conflict/);
  c2.delete("ServiceExport", "shop/web");
  await c1.importAfter(20_000, "shop/web", "vip");
  c1.delete("ServiceImport", "shop/old");
  await world.pass(120_000);
  const restored = c1.server.objects.get("serviceimports", "shop/web");
  const [ips, note] = ["ips", "note"].map((field) => at(restored, ["spec", field]));
  assert.deepEqual([ips, note], [["1.2.3.4"], "x".repeat(5000)], "what the user wrote");
  assert.doesNotMatch(c1.ready(), /too-much-memory/);
});
