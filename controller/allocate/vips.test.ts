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

/** VIPs and previous VIPs as texts, of an import that has `ips`, with these ranges. */
function moved(
  ips: readonly string[],
  ranges: readonly string[],
  { families = ["IPv4"], explicit = [], reserved = [] }: Move = {},
): unknown {
  const from = pool({ ranges: cidrs(...ranges), reserved: cidrs(...reserved) });
  const { vips, previous } = vipsOf(KEY, ips, families, from, explicit);
  return [vips, previous].map((list) => list.map(({ text }) => text));
}

interface Move {
  readonly families?: readonly Family[];
  readonly explicit?: readonly string[];
  readonly reserved?: readonly string[];
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
  const full = pool({
    ranges: cidrs("241.0.0.0/30"),
    taken: new Set(["241.0.0.1", "241.0.0.2"]),
  });
  assert.deepEqual(vips([], ["IPv4", "IPv6"], full), [
    [],
    { IPv4: "range-exhausted", IPv6: "range-missing" },
  ]);
  assert.deepEqual(vips(["fd00::1"], ["IPv6", "IPv4"], full), [
    ["fd00::1"],
    { IPv4: "range-exhausted" },
  ]);
});

const OLD = "241.0.0.9";
/** The first choice of the import in 242.0.0.0/16. */
const NEW = "242.0.245.1";

test("a VIP in a range after the first is replaced, and stays as a previous one while that range exists", () => {
  const both = ["242.0.0.0/16", "241.0.0.0/16"];
  assert.deepEqual(moved([OLD], ["241.0.0.0/16", "242.0.0.0/16"]), [[OLD], []]);
  assert.deepEqual(moved([OLD], both), [[NEW], [OLD]]);
  assert.deepEqual(moved([NEW, OLD], both), [[NEW], [OLD]], "nothing moves twice");
  assert.deepEqual(moved([OLD, NEW], both), [[NEW], [OLD]], "IPAddresses have no order");
  assert.deepEqual(moved([], both), [[NEW], []], "a new import has no previous VIP");
  assert.deepEqual(moved([NEW, OLD], [...both].reverse()), [[OLD], [NEW]], "and back");
  assert.deepEqual(moved([NEW, OLD], ["242.0.0.0/16"]), [[NEW], []], "the old range is removed");
  assert.deepEqual(moved([OLD], ["242.0.0.0/16"]), [[OLD], []], "without a time with both");
});

test("each family moves by itself, in its order", () => {
  const ranges = ["fd01::/112", "242.0.0.0/16", "fd00::/112"];
  const families = ["IPv6", "IPv4"] as const;
  assert.deepEqual(moved(["242.0.0.9", "fd00::9"], ranges, { families }), [
    ["fd01::6aeb", "242.0.0.9"],
    ["fd00::9"],
  ]);
  const all = [...ranges, "241.0.0.0/16"];
  assert.deepEqual(moved([OLD, "fd00::9"], all, { families }), [
    ["fd01::6aeb", NEW],
    ["fd00::9", OLD],
  ]);
});

test("a range may become a part of itself, or grow", () => {
  assert.deepEqual(moved(["241.7.0.9"], ["241.0.0.0/16", "241.0.0.0/8"]), [
    ["241.0.245.1"],
    ["241.7.0.9"],
  ]);
  assert.deepEqual(moved([OLD], ["241.0.0.0/16", "241.0.0.0/8"]), [[OLD], []]);
  assert.deepEqual(moved([OLD], ["241.0.0.0/8"]), [[OLD], []]);
});

test("VIPs that a user wrote do not move", () => {
  const both = ["242.0.0.0/16", "241.0.0.0/16"];
  assert.deepEqual(moved([OLD], both, { explicit: [OLD] }), [[OLD], []]);
  assert.deepEqual(moved([OLD], ["242.0.0.0/16"], { explicit: [OLD] }), [[OLD], []]);
});

test("a VIP stays if the first range is full, or its family has no range", () => {
  const both = ["242.0.0.0/30", "241.0.0.0/16"];
  const full = { reserved: ["242.0.0.0/16"] };
  assert.deepEqual(moved([OLD], both, full), [[OLD], []]);
  assert.deepEqual(moved([OLD], ["242.0.0.0/30"], full), [[OLD], []]);
  assert.deepEqual(moved([], both, full), [[], []], "no new VIP comes from a later range");
  assert.deepEqual(moved([OLD], ["fd00::/112"]), [[OLD], []]);
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
