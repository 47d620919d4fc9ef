import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../test/generators/for-all.ts";
import type { ObjectKey } from "./names.ts";
import { VipHolders } from "./vip-holders.ts";

const VIP = "241.0.0.1";
const OTHER = "241.0.0.2";

function running(): VipHolders {
  const holders = new VipHolders();
  holders.listed();
  return holders;
}

test("the first import that lists a VIP holds it for as long as it lists it", () => {
  const holders = running();
  assert.deepEqual(holders.claim("shop/web", [VIP]), []);
  assert.deepEqual(holders.claim("evil/old", [VIP]), []);
  assert.equal(holders.holder(VIP), "shop/web");
  assert.deepEqual(holders.claim("shop/web", [VIP, OTHER]), []);
  assert.equal(holders.holder(VIP), "shop/web");
  assert.deepEqual(holders.claim("shop/web", [OTHER]), ["evil/old"]);
  assert.equal(holders.holder(VIP), "evil/old");
});

test("of imports in the first lists, none holds a VIP that several list, until one remains", () => {
  const holders = new VipHolders();
  holders.claim("shop/web", [VIP]);
  assert.deepEqual(holders.claim("evil/old", [VIP]), ["shop/web"]);
  holders.listed();
  assert.equal(holders.holder(VIP), "contested");
  assert.deepEqual(holders.contested(), [VIP]);
  assert.deepEqual(holders.claim("evil/old", []), ["shop/web"]);
  assert.equal(holders.holder(VIP), "shop/web");
});

test("the rules of an earlier run settle a contested VIP", () => {
  const holders = new VipHolders();
  for (const key of ["evil/old", "shop/web"] as const) holders.claim(key, [VIP]);
  holders.listed();
  assert.deepEqual(holders.settle(VIP, "shop/gone"), [], "it lists the VIP no longer");
  assert.deepEqual(holders.settle(VIP, "shop/web").sort(), ["evil/old", "shop/web"]);
  assert.equal(holders.holder(VIP), "shop/web");
  assert.deepEqual(holders.settle(VIP, "evil/old"), []);
});

test("an IPAddress decides, also for an import that does not list the VIP at the moment", () => {
  const holders = running();
  holders.claim("evil/old", [VIP]);
  assert.deepEqual(holders.record(VIP, "shop/web"), ["evil/old"]);
  assert.equal(holders.holder(VIP), "shop/web");
  assert.deepEqual(holders.record(VIP, undefined), ["evil/old"]);
  assert.equal(holders.holder(VIP), "evil/old");
});

test("an IPAddress without a claim leaves nothing behind when it is deleted", () => {
  const holders = running();
  holders.record(VIP, "shop/web");
  holders.record(VIP, undefined);
  assert.equal(holders.holder(VIP), undefined);
});

const RIVALS = ["evil/a", "evil/old", "evil/z"] as const satisfies readonly ObjectKey[];
const WRITE = fc.record({
  rival: fc.constantFrom(...RIVALS),
  vips: fc.subarray([VIP, OTHER]),
  restart: fc.boolean(),
});

test("no sequence of a rival's writes, and no restart, moves a VIP from its holder", () =>
  forAll([fc.array(WRITE), fc.boolean()], (writes, isRecorded) => {
    const claims = new Map<ObjectKey, readonly string[]>([["shop/web", [VIP]]]);
    const start = (first?: ObjectKey): VipHolders => {
      const holders = new VipHolders();
      // The order of a list depends on names.
      for (const [key, vips] of [...claims].sort(([a], [b]) => (a < b ? -1 : 1)))
        holders.claim(key, vips);
      if (isRecorded) holders.record(VIP, "shop/web");
      holders.listed();
      if (first !== undefined) holders.settle(VIP, first);
      return holders;
    };
    let holders = start();
    for (const { rival, vips, restart } of writes) {
      claims.set(rival, vips);
      const affected = holders.claim(rival, vips);
      assert.ok(!affected.includes("shop/web"));
      if (restart) {
        const holder = holders.holder(VIP);
        assert.equal(isRecorded ? start().holder(VIP) : holder, "shop/web");
        holders = start(isRecorded || holder === "contested" ? undefined : holder);
      }
      assert.equal(holders.holder(VIP), "shop/web");
    }
  }));

test("all nodes agree on the holder of each VIP that an IPAddress names, whenever they started", () =>
  forAll([fc.array(WRITE), fc.constantFrom(...RIVALS, "shop/web")], (writes, recorded) => {
    const claims = new Map<ObjectKey, readonly string[]>();
    const old = running();
    old.record(VIP, recorded);
    for (const { rival, vips } of writes) {
      claims.set(rival, vips);
      old.claim(rival, vips);
    }
    const fresh = new VipHolders();
    for (const [key, vips] of claims) fresh.claim(key, vips);
    fresh.record(VIP, recorded);
    fresh.listed();
    assert.equal(fresh.holder(VIP), old.holder(VIP));
  }));
