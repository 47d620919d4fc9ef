import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { planVip } from "../../agent/plan/plan.ts";
import { type Address, FAMILIES, type Family } from "../../api/address.ts";
import { type Cidr, cidrOf, contains, widthOf } from "../../api/cidr.ts";
import { objectKey } from "../../api/names.ts";
import { KEY } from "../../test/generators/export-records.ts";
import { address, cidr, nodeFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { cidrs } from "../../test/generators/wanted-imports.ts";
import { allocate } from "./allocate.ts";
import { overlapsOf, reservedIn } from "./overlaps.ts";
import { addressAt, spanOf, type VipPool } from "./pool.ts";
import { vipRefusal, vipsOf } from "./vips.ts";

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
    const given = again.vips.map(({ family }) => family);
    assert.deepEqual(given, later);
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

const NONE: ReadonlySet<string> = new Set();

/** The allocated address; fails if there is none. */
function found(result: Address | "exhausted"): Address {
  assert.ok(result !== "exhausted");
  return result;
}

/** A set that counts its look-ups. */
class Asked extends Set<string> {
  times = 0;
  override has(text: string): boolean {
    this.times++;
    return super.has(text);
  }
}

const KEYS = fc
  .tuple(fc.constantFrom("demo", "prod"), fc.stringMatching(/^[a-z]{1,10}$/))
  .map(([namespace, name]) => objectKey(namespace, name));

/** A range that is small enough to allocate all of it. */
const SMALL: fc.Arbitrary<Cidr> = fc.oneof(
  fc
    .tuple(fc.integer({ min: 24, max: 32 }), fc.constantFrom("241.1.2.77", "255.255.255.255"))
    .map(([bits, base]) => cidrOf(addressOf(base), bits)),
  fc
    .tuple(fc.integer({ min: 121, max: 128 }), fc.constantFrom("fd00::ffff:ffff", "fd00::1:0"))
    .map(([bits, base]) => cidrOf(addressOf(base), bits)),
);

function addressOf(text: string): Address {
  const { family, hex } = cidr(`${text}/${text.includes(":") ? 128 : 32}`);
  return { family, text, hex };
}

/** Every usable address of a range, in order. */
function usable(range: Cidr): Address[] {
  const { first, last } = spanOf(range);
  const all: Address[] = [];
  for (let n = first; n <= last; n++) all.push(addressAt(range.family, n));
  return all.slice(1, range.family === "IPv4" ? -1 : undefined);
}

const OCCUPIED = SMALL.chain((range) => {
  const all = usable(range).map(({ text }) => text);
  const inner = fc
    .tuple(fc.integer({ min: range.bits, max: widthOf(range.family) }), fc.constantFrom(...all, ""))
    .map(([bits, text]) => (text === "" ? range : cidrOf(addressOf(text), bits)));
  return fc.tuple(fc.constant(range), fc.subarray(all), fc.array(inner, { maxLength: 3 }), KEYS);
});

test("a taken address is replaced by the next free one, with wraparound at the end of the range", () =>
  forAll([OCCUPIED], ([range, taken, reserved, key]) => {
    const all = usable(range);
    const home = allocate(key, range.family, range, NONE, []);
    const start = all.findIndex(({ text }) => home !== "exhausted" && text === home.text);
    const next = [...all.slice(start), ...all.slice(0, Math.max(start, 0))].find(
      (one) => !taken.includes(one.text) && !reserved.some((wall) => contains(wall, one)),
    );
    const given = allocate(key, range.family, range, new Set(taken), reserved);
    assert.deepEqual(given, all.length === 0 ? "exhausted" : (next ?? "exhausted"));
  }));

test("taken addresses outside the range do not change the allocation", () =>
  forAll([OCCUPIED], ([range, taken, , key]) => {
    const home = allocate(key, range.family, range, NONE, []);
    fc.pre(home !== "exhausted" && !taken.includes(home.text));
    assert.deepEqual(allocate(key, range.family, range, new Set(taken), []), home);
  }));

test("large ranges and large reservations are not scanned", () => {
  for (const [range, wall] of [
    [cidr("241.0.0.0/8"), cidr("241.0.0.0/9")],
    [cidr("fd00::/8"), cidr("fd00::/9")],
  ] as const) {
    const home = found(allocate(KEY, range.family, range, NONE, []));
    const taken = new Asked();
    for (let n = 0n; n < 50n; n++) {
      taken.add(addressAt(range.family, BigInt(`0x${home.hex}`) + n).text);
    }
    const given = found(allocate(KEY, range.family, range, taken, []));
    assert.ok(contains(range, given) && !new Set(taken).has(given.text));
    assert.equal(taken.times, 51);
    const around = cidrOf(home, widthOf(range.family) - 16);
    const free = new Asked();
    const beyond = found(allocate(KEY, range.family, range, free, [around, wall]));
    assert.ok(!contains(around, beyond) && !contains(wall, beyond));
    assert.equal(free.times, 1);
    assert.equal(allocate(KEY, range.family, range, free, [range]), "exhausted");
  }
});

test("the network address, the broadcast address and the routers' anycast address are never allocated", () => {
  const given = (text: string): string[] => {
    const range = cidr(text);
    const family: Family = range.family;
    const one = (i: number) => allocate(objectKey("demo", `s${i}`), family, range, NONE, []);
    const texts = Array.from({ length: 200 }, (_, i) => one(i));
    return [...new Set(texts.map((got) => (got === "exhausted" ? got : got.text)))].sort();
  };
  assert.deepEqual(given("240.0.0.0/30"), ["240.0.0.1", "240.0.0.2"]);
  assert.deepEqual(given("255.255.255.252/30"), ["255.255.255.253", "255.255.255.254"]);
  assert.deepEqual(given("fd00::/126"), ["fd00::1", "fd00::2", "fd00::3"]);
  for (const none of ["241.0.0.0/31", "241.0.0.1/32", "fd00::1/128"]) {
    assert.deepEqual(given(none), ["exhausted"]);
  }
});

test("the allocated addresses are the same in all versions", () => {
  const of = (family: Family, range: string) =>
    found(allocate(KEY, family, cidr(range), NONE, [])).text;
  assert.equal(of("IPv4", "241.0.0.0/8"), "241.191.197.233");
  assert.equal(of("IPv4", "240.0.0.0/4"), "242.179.251.65");
  assert.equal(of("IPv6", "fd12:3456:789a::/112"), "fd12:3456:789a::6aeb");
});

const VIPS = [
  ...["241.0.0.10", "240.0.0.1", "1.2.3.4", "8.8.8.8", "127.0.0.1", "169.254.169.254"],
  ...["224.0.0.1", "255.255.255.255", "0.0.0.0", "10.96.0.10"],
  ...["fd00:241::7", "fd00:242::7", "2001:db8::1", "::1", "fe80::1", "ff02::1", "::"],
];

const RANGES: readonly (readonly Cidr[])[] = [
  [cidr("241.0.0.0/8"), cidr("fd00:241::/108")],
  [cidr("241.0.0.0/8")],
  [cidr("fd00:241::/108")],
];

const EXPLICIT: readonly (readonly Cidr[])[] = [
  [],
  [cidr("1.2.3.0/24"), cidr("2001:db8::/32")],
  [cidr("0.0.0.0/0"), cidr("::/0")],
];

test("the controller refuses exactly the VIPs that an agent refuses where nothing else uses an address", () => {
  const unused = {
    podCidrs: [],
    serviceCidrs: [],
    subnets: [],
    reservedAddresses: new Set<string>(),
  };
  for (const clusterSetCidrs of RANGES) {
    for (const explicitVipCidrs of EXPLICIT) {
      const node = nodeFact({ ...unused, clusterSetCidrs, explicitVipCidrs });
      for (const vip of VIPS.map(address)) {
        const { reason } = planVip(vip, new Map(), node);
        const refusal = vipRefusal(vip, clusterSetCidrs, explicitVipCidrs);
        assert.equal(refusal ?? "programmed", reason, vip.text);
      }
    }
  }
});

test("a range without a free address, or without one for the namespace, is not searched", () => {
  let searched = 0;
  const taken = { has: () => searched++ >= 0 };
  const pool = { ranges: [cidr("241.0.0.0/28")], taken, reserved: [], held: () => 13 };
  for (const used of [14, 13]) vipsOf(KEY, [], ["IPv4"], { ...pool, used: () => used });
  assert.equal(searched, 0);
});
