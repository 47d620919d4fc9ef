import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Address, Family } from "../../api/address.ts";
import { type Cidr, cidrOf, contains, isCidr, parseCidr, widthOf } from "../../api/cidr.ts";
import { objectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { allocate } from "./allocate.ts";
import { addressAt, spanOf } from "./pool.ts";

const KEY = objectKey("demo", "serve");
const NONE: ReadonlySet<string> = new Set();

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  assert.ok(isCidr(parsed), text);
  return parsed;
}

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

test("allocates a free address if there is one", () =>
  forAll([OCCUPIED], ([range, taken, reserved, key]) => {
    const free = usable(range).filter(
      (one) => !taken.includes(one.text) && !reserved.some((wall) => contains(wall, one)),
    );
    const given = allocate(key, range.family, range, new Set(taken), reserved);
    if (given === "exhausted") assert.deepEqual(free, []);
    else assert.ok(free.some(({ text }) => text === given.text));
  }));

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

test("each address of a range is allocated once, then the range is exhausted", () => {
  for (const range of ["241.0.0.0/24", "fd00::/120"].map(cidr)) {
    const taken = new Set<string>();
    const all = usable(range);
    for (let i = 0; i < all.length; i++) {
      taken.add(found(allocate(objectKey("demo", `s${i}`), range.family, range, taken, [])).text);
    }
    assert.deepEqual(taken, new Set(all.map(({ text }) => text)));
    assert.equal(allocate(KEY, range.family, range, taken, []), "exhausted");
  }
});

test("the only free address of a /24 is found at any position", () => {
  const range = cidr("241.7.7.0/24");
  const all = usable(range).map(({ text }) => text);
  for (const free of all) {
    const taken = new Asked(all.filter((text) => text !== free));
    assert.equal(found(allocate(KEY, "IPv4", range, taken, [])).text, free);
    assert.ok(taken.times <= 254);
  }
});

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

test("a range of the other family is exhausted", () => {
  assert.equal(allocate(KEY, "IPv6", cidr("241.0.0.0/8"), NONE, []), "exhausted");
});
