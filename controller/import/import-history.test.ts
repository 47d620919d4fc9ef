import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { ANNOTATION_IMPORT, ANNOTATION_PREVIOUS_IPS } from "../../api/keys.ts";
import { anyRecord, CLUSTERS, exportRecord } from "../../test/generators/export-records.ts";
import { forAll } from "../../test/generators/for-all.ts";
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

import type { ExportRecord, ImportFact } from "../model/facts.ts";
import { parseImport } from "../model/parse-import.ts";
import type { ImportWanted } from "./import-of.ts";
import { importStatus } from "./status-manifest.ts";

/** An importing cluster: the import that it has, and which registries are synced. */
interface Cluster {
  readonly seen?: ImportFact;
  readonly deafTo: ReadonlySet<string>;
}

/** An event in the registries, or in the importing cluster. */
type Event =
  | { readonly kind: "export"; readonly record: ExportRecord }
  | { readonly kind: "unexport"; readonly cluster: string }
  /** The controller restarts, and cannot reach these registries. */
  | { readonly kind: "restart"; readonly deafTo: readonly string[] }
  | { readonly kind: "hear" };

const CLUSTER = fc.constantFrom(...CLUSTERS);

const EVENT: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 3,
    arbitrary: CLUSTER.chain(anyRecord).map((record): Event => ({ kind: "export", record })),
  },
  { weight: 3, arbitrary: CLUSTER.map((cluster): Event => ({ kind: "unexport", cluster })) },
  fc.subarray([...CLUSTERS]).map((deafTo): Event => ({ kind: "restart", deafTo })),
  fc.constant<Event>({ kind: "hear" }),
);

/** The state after one reconcile. */
function pass(cluster: Cluster, records: ReadonlyMap<string, ExportRecord>): Cluster {
  const { seen, deafTo } = cluster;
  const made = wanted({
    records: [...records.values()].filter((record) => !deafTo.has(record.cluster)),
    ...(seen !== undefined && { seen }),
    isSynced: (id) => !deafTo.has(id),
    allSynced: deafTo.size === 0,
  });
  if (made?.remove === true) return { deafTo };
  return { deafTo, ...written(made, seen) };
}

/** The result of a server-side apply: fields of other writers stay. */
function written(
  wanted: ImportWanted | undefined,
  seen: ImportFact | undefined,
): Pick<Cluster, "seen"> {
  if (wanted?.object === undefined) return seen === undefined ? {} : { seen };
  const spec = {
    type: seen?.headless === true ? "Headless" : "ClusterSetIP",
    ports: seen?.ports ?? [],
    ...Object(wanted.object.spec),
  };
  const status =
    wanted.status === undefined || seen === undefined
      ? {}
      : importStatus(seen, wanted.status, 0).status;
  const { fact } = parseImport({ ...wanted.object, spec, status });
  assert.ok(fact !== undefined);
  return { seen: fact };
}

/** Applies events, with one or two reconciles after each; yields the cluster after every event. */
function live(events: readonly Event[], start: Pick<Cluster, "seen">): Cluster[] {
  const records = new Map<string, ExportRecord>();
  let cluster: Cluster = { ...start, deafTo: new Set() };
  return events.map((event) => {
    if (event.kind === "export") records.set(event.record.cluster, event.record);
    else if (event.kind === "unexport") records.delete(event.cluster);
    else if (event.kind === "restart") cluster = { ...cluster, deafTo: new Set(event.deafTo) };
    else cluster = { ...cluster, deafTo: new Set() };
    cluster = pass(pass(cluster, records), records);
    return cluster;
  });
}

const HEAR: Event = { kind: "hear" };
const END: readonly Event[] = [
  HEAR,
  ...CLUSTERS.map((cluster): Event => ({ kind: "unexport", cluster })),
];
const HISTORY = fc.array(EVENT, { maxLength: 12 });

test("a created import is deleted with its last export", () =>
  forAll([HISTORY], (events) => {
    assert.equal(live([...events, ...END], {}).at(-1)?.seen, undefined);
  }));

test("the same exports give the same import, after any history and restarts", () =>
  forAll([HISTORY], (events) => {
    const last = live([...events, HEAR], {}).at(-1)?.seen;
    const state = new Map<string, Event>();
    for (const event of events) {
      if (event.kind === "export") state.set(event.record.cluster, event);
      if (event.kind === "unexport") state.delete(event.cluster);
    }
    const straight = live([...state.values()].reverse(), {}).at(-1)?.seen;
    assert.deepEqual(last, straight);
  }));

test("a user-managed import keeps its VIPs after all exports", async () => {
  const ips = fc.constantFrom(["1.2.3.4"], ["fd00::1:1", "1.2.3.4"], ["1.2.3.4", "5.6.7.8"], []);
  await forAll([HISTORY, ips], (events, explicit) => {
    const spec = { type: "ClusterSetIP", ports: [{ port: 80 }], ips: explicit };
    const seen = parseImport({ metadata: { namespace: "demo", name: "serve" }, spec }).fact;
    assert.ok(seen !== undefined);
    const states = live([...events, HEAR, ...END], { seen });
    for (const { seen: after } of states) {
      assert.ok(after !== undefined);
      if (after.headless) assert.deepEqual(after.ips, []);
      else for (const ip of explicit) assert.ok(after.ips.includes(ip), ip);
    }
    const last = states.at(-1)?.seen;
    if (explicit.length > 0) assert.deepEqual(last, seen);
    else
      assert.deepEqual([last?.origin, last?.headless, last?.ports], [undefined, false, seen.ports]);
  });
});

test("while a contributing cluster is unknown, its import keeps ports and VIPs", () =>
  forAll([HISTORY, fc.subarray([...CLUSTERS]), HISTORY], (before, deafTo, during) => {
    const happens = during.filter(({ kind }) => kind === "export" || kind === "unexport");
    const states = live([...before, HEAR, { kind: "restart", deafTo }, ...happens], {});
    const start = states[before.length]?.seen;
    const deaf: readonly string[] = deafTo;
    fc.pre(start?.clusters.some((cluster) => deaf.includes(cluster)) === true);
    for (const { seen } of states.slice(before.length + 1)) assert.deepEqual(seen, start);
  }));

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
