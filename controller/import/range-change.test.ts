import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNOTATION_IMPORT, ANNOTATION_PREVIOUS_IPS } from "../../api/keys.ts";
import { exportRecord } from "../../test/generators/export-records.ts";
import {
  BY_HAND,
  byHand,
  cidrs,
  ipsOf,
  POOL,
  readyOf,
  seenAfter,
  spec,
  taken,
  wanted,
} from "../../test/generators/wanted-imports.ts";
import type { ImportWanted } from "./import-of.ts";

// How VIPs move when a ClusterSet CIDR is replaced.

const ranges = cidrs("242.0.0.0/16", "fd00::/112", "241.0.0.0/16");
const records = [exportRecord({ families: ["IPv4", "IPv6"] })];
const annotations = (made: ImportWanted | undefined) => made?.object?.metadata.annotations;
const NEW = "242.0.245.1";
const OLD = "241.0.245.1";

test("a created import gets a VIP of the new range, and an annotation with the old one; both are its own", () => {
  const seen = seenAfter(wanted({ records }));
  const moved = wanted({ records, seen, pool: { ...POOL, ranges } });
  assert.deepEqual(ipsOf(moved), [NEW, "fd00::6aeb"]);
  assert.deepEqual(annotations(moved), {
    [ANNOTATION_IMPORT]: "created",
    [ANNOTATION_PREVIOUS_IPS]: OLD,
  });
  assert.deepEqual(moved?.vips, [NEW, "fd00::6aeb", OLD]);
  const after = seenAfter(moved);
  const again = wanted({ records, seen: after, pool: { ...POOL, ranges } });
  assert.equal(JSON.stringify(again?.object), JSON.stringify(moved?.object));
  const ended = wanted({ records, seen: after, pool: { ...POOL, ranges: ranges.slice(0, 2) } });
  assert.deepEqual(annotations(ended), { [ANNOTATION_IMPORT]: "created" });
  assert.deepEqual(ended?.vips, [NEW, "fd00::6aeb"]);
});

test("an import whose VIP stays because the new range is full says so, and is ready", () => {
  const seen = seenAfter(wanted({ records }));
  const pool = { ...POOL, ranges, reserved: cidrs("242.0.0.0/16") };
  const stuck = wanted({ records, seen, pool });
  assert.deepEqual(ipsOf(stuck), [OLD, "fd00::6aeb"]);
  assert.match(readyOf(stuck), /^True .* range-exhausted: no free IPv4 address\.$/);
});

test("a previous VIP that is another import's is not kept", () => {
  const seen = seenAfter(wanted({ records }));
  const moved = wanted({ records, seen, pool: { ...POOL, ranges }, dispute: taken(OLD) });
  assert.deepEqual(annotations(moved), { [ANNOTATION_IMPORT]: "created" });
});

test("an import of which a cluster is not heard does not move", () => {
  const seen = seenAfter(wanted({ records }));
  const made = wanted({ records, seen, pool: { ...POOL, ranges }, isSynced: () => false });
  assert.deepEqual([made?.reason, made?.object], ["not-heard", undefined]);
});

test("an adopted import moves, unless a user wrote its VIP", () => {
  const adopted = (ips?: readonly string[]) => {
    const seen = seenAfter(wanted({ records, seen: byHand(ips && { ips }) }));
    const made = wanted({ records, seen, pool: { ...POOL, ranges } });
    return [ipsOf(made)[0], annotations(made)?.[ANNOTATION_PREVIOUS_IPS]];
  };
  assert.deepEqual(adopted(), [NEW, OLD]);
  assert.deepEqual(adopted(["241.0.0.9"]), ["241.0.0.9", undefined]);
});

test("a user-managed import keeps its VIP; without one it gets one of the new range", () => {
  const pool = { ...POOL, ranges };
  assert.deepEqual(wanted({ seen: byHand({ ips: [OLD] }), pool }), {
    reason: "by-hand",
    vips: [OLD],
  });
  for (const later of [ranges, ranges.slice(0, 2)]) {
    const emptied = wanted({ seen: BY_HAND, held: [OLD], pool: { ...pool, ranges: later } });
    assert.deepEqual(spec(emptied), { ips: [NEW] });
    assert.deepEqual(emptied?.vips, [NEW]);
  }
});

test("without a time with both ranges, the VIP stays until the import is deleted", () => {
  const pool = { ...POOL, ranges: ranges.slice(0, 2) };
  const seen = seenAfter(wanted({ records }));
  for (const held of [[], [OLD], [OLD, "fd00::6aeb"]]) {
    const kept = wanted({ records, seen, pool, held });
    assert.deepEqual(ipsOf(kept), [OLD, "fd00::6aeb"]);
  }
  const anew = wanted({ records, pool, held: [OLD, "fd00::6aeb"] });
  assert.deepEqual(ipsOf(anew), [NEW, "fd00::6aeb"]);
  const allowed = cidrs("241.0.0.0/16");
  const explicit = wanted({ records, pool, held: [OLD], explicitVipCidrs: allowed });
  assert.equal(ipsOf(explicit)[0], OLD);
});
