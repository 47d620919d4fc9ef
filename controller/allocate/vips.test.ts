import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAMILIES, type Family } from "../../api/address.ts";
import { type Cidr, contains, isCidr, parseCidr } from "../../api/cidr.ts";
import { objectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { overlapsOf, reservedIn } from "./overlaps.ts";
import type { VipPool } from "./pool.ts";
import { vipsOf } from "./vips.ts";

const KEY = objectKey("demo", "serve");

function cidrs(...texts: readonly string[]): Cidr[] {
  return texts.map((text) => {
    const cidr = parseCidr(text);
    assert.ok(isCidr(cidr), text);
    return cidr;
  });
}

function pool(over: Partial<VipPool> = {}): VipPool {
  return { ranges: cidrs("241.0.0.0/16", "fd00::/112"), taken: new Set(), reserved: [], ...over };
}

/** VIPs as texts, and the families that lack one. */
function vips(ips: readonly string[], families: readonly Family[], from = pool()): unknown {
  const { vips, lacking } = vipsOf(KEY, ips, families, from);
  return [vips.map(({ text }) => text), Object.fromEntries(lacking)];
}

const WISHES = fc.uniqueArray(fc.constantFrom(...FAMILIES), { minLength: 1 });

test("an import keeps the VIPs in its spec", () =>
  forAll([WISHES, WISHES], (families, later) => {
    const first = vipsOf(KEY, [], families, pool()).vips;
    const texts = first.map(({ text }) => text);
    const again = vipsOf(KEY, texts, later, pool({ taken: new Set(texts) }));
    assert.deepEqual(
      again.vips.map(({ family }) => family),
      later,
    );
    for (const vip of first.filter(({ family }) => later.includes(family))) {
      assert.ok(again.vips.some(({ text }) => text === vip.text));
    }
    const ranges = pool().ranges;
    assert.ok(again.vips.every((vip) => ranges.some((range) => contains(range, vip))));
  }));

test("explicit VIPs stay, also outside the range, and a family without a VIP gets one", () => {
  const [given] = vipsOf(KEY, [], ["IPv6"], pool()).vips;
  assert.deepEqual(vips(["1.2.3.4"], ["IPv6", "IPv4"]), [[given?.text, "1.2.3.4"], {}]);
  assert.deepEqual(vips(["1.2.3.4", "5.6.7.8"], ["IPv4"]), [["1.2.3.4"], {}]);
});

test("invalid addresses are ignored", () => {
  const [given] = vipsOf(KEY, [], ["IPv4"], pool()).vips;
  assert.deepEqual(vips(["010.0.0.1", "x", ""], ["IPv4"]), [[given?.text], {}]);
});

test("families without a range or with full ranges are reported; the other family has its VIP", () => {
  const full = pool({ ranges: cidrs("241.0.0.0/30"), taken: new Set(["241.0.0.1", "241.0.0.2"]) });
  assert.deepEqual(vips([], ["IPv4", "IPv6"], full), [
    [],
    { IPv4: "range-exhausted", IPv6: "range-missing" },
  ]);
  assert.deepEqual(vips(["fd00::1"], ["IPv6", "IPv4"], full), [
    ["fd00::1"],
    { IPv4: "range-exhausted" },
  ]);
});

test("VIPs come from the second range of a family when the first is full", () => {
  const two = pool({
    ranges: cidrs("241.0.0.0/30", "242.0.0.0/30"),
    reserved: cidrs("241.0.0.0/24"),
  });
  const [vip] = vipsOf(KEY, [], ["IPv4"], two).vips;
  assert.match(vip?.text ?? "", /^242\.0\.0\.[12]$/);
});

test("each overlap of a ClusterSet CIDR with Services or pods is reported", () => {
  const clusterIps = cidrs("241.0.9.9/32", "241.0.9.10/32", "10.0.0.1/32").map((cidr) => ({
    family: cidr.family,
    hex: cidr.hex,
    text: cidr.text.replace("/32", ""),
  }));
  const found = overlapsOf(pool().ranges, {
    serviceCidrs: cidrs("241.0.128.0/17", "10.0.0.0/16"),
    podCidrs: cidrs("fd00::/64", "10.1.0.0/16"),
    clusterIps,
  });
  assert.deepEqual(
    found.map(({ reason, range, with: other }) => [reason, range.text, other.text]),
    [
      ["service-range-overlap", "241.0.0.0/16", "241.0.128.0/17"],
      ["service-range-overlap", "241.0.0.0/16", "241.0.9.9/32"],
      ["pod-range-overlap", "fd00::/112", "fd00::/64"],
    ],
  );
  assert.deepEqual(
    overlapsOf(pool().ranges, { serviceCidrs: [], podCidrs: [], clusterIps: [] }),
    [],
  );
});

test("only ranges that overlap are reserved", () => {
  assert.deepEqual(
    reservedIn(pool().ranges, cidrs("10.0.0.0/8", "241.0.1.0/24", "fd00::/8")).map(
      ({ text }) => text,
    ),
    ["241.0.1.0/24", "fd00::/8"],
  );
});
