import assert from "node:assert/strict";
import { test } from "node:test";
import { address } from "../../test/support/worlds.ts";
import { VipClaims } from "./vip-claims.ts";

const VIP = address("241.0.0.1");
const OTHER = address("241.0.0.2");
const NEVER = Number.POSITIVE_INFINITY;

test("the import that was created first holds a VIP, in whatever order they come", () => {
  for (const order of [
    ["demo/old", "demo/young"],
    ["demo/young", "demo/old"],
  ] as const) {
    const claims = new VipClaims();
    for (const key of order) claims.claim(key, key === "demo/old" ? 1 : 2, [VIP]);
    assert.equal(claims.holder(VIP.text), "demo/old");
  }
});

test("of imports that were created together, the first by name holds it", () => {
  const claims = new VipClaims();
  claims.claim("demo/b", 5, [VIP]);
  claims.claim("demo/a", 5, [VIP]);
  assert.equal(claims.holder(VIP.text), "demo/a");
});

test("an import without a creation time is the youngest", () => {
  const claims = new VipClaims();
  claims.claim("demo/a", NEVER, [VIP]);
  claims.claim("demo/z", Date.UTC(2100, 0), [VIP]);
  assert.equal(claims.holder(VIP.text), "demo/z");
  claims.claim("demo/0", NEVER, [OTHER]);
  claims.claim("demo/1", NEVER, [OTHER]);
  assert.equal(claims.holder(OTHER.text), "demo/0");
});

test("a holder that lets go is followed by the next oldest, and everybody who claims is told", () => {
  const claims = new VipClaims();
  claims.claim("demo/1", 1, [VIP]);
  claims.claim("demo/2", 2, [VIP]);
  claims.claim("demo/3", 3, [VIP]);
  assert.deepEqual(claims.release("demo/1", [VIP]).sort(), ["demo/2", "demo/3"]);
  assert.equal(claims.holder(VIP.text), "demo/2");
});

test("a claim that changes nobody's hold concerns nobody else", () => {
  const claims = new VipClaims();
  assert.deepEqual(claims.claim("demo/1", 1, [VIP]), []);
  assert.deepEqual(claims.claim("demo/2", 2, [VIP]), []);
  assert.deepEqual(claims.release("demo/2", [VIP]), []);
  assert.deepEqual(claims.claim("demo/3", 3, [OTHER]), []);
});

test("an older import that comes later takes over, VIP by VIP", () => {
  const claims = new VipClaims();
  claims.claim("demo/young", 2, [VIP, OTHER]);
  assert.deepEqual(claims.claim("demo/old", 1, [VIP]), ["demo/young"]);
  assert.equal(claims.holder(VIP.text), "demo/old");
  assert.equal(claims.holder(OTHER.text), "demo/young");
});

test("a VIP that nobody claims any more has no holder", () => {
  const claims = new VipClaims();
  claims.claim("demo/1", 1, [VIP]);
  assert.deepEqual(claims.release("demo/1", [VIP]), []);
  assert.equal(claims.holder(VIP.text), undefined);
});
