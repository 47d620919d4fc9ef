import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ANNOTATION_IMPORT } from "../../api/keys.ts";
import { ANY_RECORDS, exportRecord } from "../../test/generators/export-records.ts";
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
  status,
  taken,
  wanted,
} from "../../test/generators/wanted-imports.ts";

import type { ExportRecord } from "../model/facts.ts";
import { reducedImport } from "../model/reduced.ts";

const READY = "True Ready: ClusterSetIP 241.0.245.1.";

test("an export creates an import with all properties of the Service, and one VIP per family in its order", () => {
  const record = exportRecord({
    families: ["IPv6", "IPv4"],
    ports: [{ name: "http", protocol: "TCP", port: 80, appProtocol: "h2c" }],
    sessionAffinity: "ClientIP",
    affinitySeconds: 10,
    internalTrafficPolicy: "Cluster",
    trafficDistribution: "PreferClose",
    metadata: { labels: { team: "a" }, annotations: { note: "b" } },
  });
  const made = wanted({ records: [record] });
  assert.equal(made?.reason, "exported");
  assert.deepEqual(made.object, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: {
      name: "serve",
      namespace: "demo",
      labels: { team: "a" },
      annotations: { note: "b", [ANNOTATION_IMPORT]: "created" },
    },
    spec: {
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80, appProtocol: "h2c" }],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } },
      internalTrafficPolicy: "Cluster",
      trafficDistribution: "PreferClose",
      ips: ["fd00::6aeb", "241.0.245.1"],
      ipFamilies: ["IPv6", "IPv4"],
    },
  });
});

test("the status lists the exporters, with condition Ready at the time of the write", () => {
  const made = wanted({
    records: [exportRecord({ exported: 2 }), exportRecord({ cluster: "c2", exported: 1 })],
  });
  assert.ok(made !== undefined);
  assert.deepEqual(status(made, { ...BY_HAND, generation: 7 }, 1000), {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { name: "serve", namespace: "demo" },
    status: {
      clusters: [{ cluster: "c2" }, { cluster: "c1" }],
      endpointSliceObjects: "Present",
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Ready",
          message: "ClusterSetIP 241.0.245.1.",
          lastTransitionTime: "1970-01-01T00:00:01Z",
          observedGeneration: 7,
        },
      ],
    },
  });
});

test("C10, C11: a headless import has an empty list of VIPs, and its families", () => {
  const made = wanted({ records: [exportRecord({ headless: true, families: ["IPv4", "IPv6"] })] });
  assert.deepEqual(spec(made), {
    type: "Headless",
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    sessionAffinity: "None",
    ips: [],
    ipFamilies: ["IPv4", "IPv6"],
  });
  assert.match(readyOf(made), /^True /);
});

test("the wanted import is byte-equal after later allocations", () =>
  forAll([ANY_RECORDS, fc.array(fc.ipV4())], (records, others) => {
    fc.pre(records.length > 0);
    const first = wanted({ records });
    const seen = seenAfter(first);
    const pool = { ...POOL, taken: new Set([...seen.ips, ...others]) };
    const again = wanted({ records, seen, pool });
    assert.equal(JSON.stringify(again), JSON.stringify(first));
    assert.ok(first !== undefined && again !== undefined);
    const [before, later] = [status(first, BY_HAND, 0), status(again, seen, 1e12)];
    assert.equal(JSON.stringify(later), JSON.stringify(before));
  }));

test("C01: an import keeps its VIPs while it has an exporter, and is deleted with the last one", () => {
  const [a, b] = [exportRecord(), exportRecord({ cluster: "c2", exported: 2000 })];
  const seen = seenAfter(wanted({ records: [a, b] }));
  const left = wanted({ records: [b], seen });
  assert.equal(left?.reason, "exported");
  assert.deepEqual(seenAfter(left).ips, seen.ips);
  assert.deepEqual(seenAfter(left).clusters, ["c2"]);
  assert.deepEqual(wanted({ seen }), { reason: "withdrawn", remove: true });
});

test("an exported import gets back its own VIP when another writer put in that of another import", () => {
  const seen = { ...seenAfter(wanted({ records: [exportRecord()] })), ips: ["241.0.0.9"] };
  const dispute = taken("241.0.0.9");
  const mended = wanted({ seen, records: [exportRecord()], dispute, held: ["241.0.3.3"] });
  assert.deepEqual(mended?.vips, ["241.0.3.3"]);
  assert.deepEqual(ipsOf(mended), ["241.0.3.3"]);
  assert.match(readyOf(mended), /^True /);
});

describe("a user-managed import", () => {
  test("gets the missing VIP, and no other field", () => {
    const given = wanted({ seen: BY_HAND });
    assert.equal(given?.reason, "by-hand");
    assert.deepEqual(spec(given), { ips: ["241.0.245.1"] });
    assert.deepEqual(Object.keys(given), ["reason", "vips", "object"]);
    const both = wanted({ seen: byHand({ ipFamilies: ["IPv6", "IPv4"] }) });
    assert.deepEqual(spec(both), { ips: ["fd00::6aeb", "241.0.245.1"] });
  });

  test("keeps explicit VIPs, also outside the range, and invalid ones", () => {
    for (const ips of [["1.2.3.4"], ["1.2.3.4", "5.6.7.8"], []]) {
      const seen = byHand({ ips: ips.length === 0 ? ["x"] : ips });
      assert.deepEqual(wanted({ seen }), { reason: "by-hand", vips: ips });
    }
    assert.deepEqual(wanted({ seen: byHand({ type: "Headless" }) }), { reason: "by-hand" });
  });

  test("has a condition if no VIP is free, and another once it has one", () => {
    const full = { ...POOL, ranges: cidrs("241.0.0.0/30"), reserved: cidrs("241.0.0.0/8") };
    const lacking = wanted({ seen: BY_HAND, pool: full });
    assert.ok(lacking !== undefined && lacking.object === undefined);
    assert.match(readyOf(lacking), /^False Pending: range-exhausted: /);
    const { status: told } = status(lacking, BY_HAND);
    for (const ips of [[], ["241.0.0.9"]])
      assert.match(readyOf(wanted({ seen: byHand({ ips }, told as object) })), /^True /);
  });

  test("is adopted with its VIPs by an export, and released after the last one", () => {
    const hand = byHand({ ips: ["1.2.3.4"], sessionAffinity: "ClientIP" });
    const adopted = wanted({ seen: hand, records: [exportRecord()] });
    assert.equal(adopted?.reason, "adopted");
    const seen = seenAfter(adopted);
    assert.deepEqual([seen.origin, seen.ips, seen.families], ["adopted", ["1.2.3.4"], ["IPv4"]]);
    const released = wanted({ seen });
    assert.equal(released?.reason, "released");
    assert.equal(released.importing, undefined);
    assert.equal(released.object?.metadata.annotations, undefined);
    assert.deepEqual(spec(released), {
      type: "ClusterSetIP",
      ports: [{ port: 80, protocol: "TCP" }],
      ips: ["1.2.3.4"],
      sessionAffinity: "ClientIP",
    });
    assert.deepEqual(status(released, seen).status, { clusters: [] });
    assert.deepEqual(wanted({ seen: seenAfter(released) }), {
      reason: "by-hand",
      vips: ["1.2.3.4"],
    });
  });

  test("gets its own VIPs back after a headless export", () => {
    const headless = exportRecord({ headless: true });
    const hidden = seenAfter(wanted({ seen: byHand({ ips: ["1.2.3.4"] }), records: [headless] }));
    assert.deepEqual(hidden.ips, []);
    const shown = wanted({ seen: hidden, records: [exportRecord()] });
    assert.deepEqual(ipsOf(shown), ["1.2.3.4"]);
  });

  test("with a VIP of another import is not ready, and is again once it has its own", () => {
    const dispute = taken("241.0.0.9");
    const seen = byHand({ ips: ["241.0.0.9"] });
    const lost = wanted({ seen, dispute });
    assert.deepEqual([lost?.object, lost?.vips], [undefined, []]);
    const why = "vip-conflict: 241.0.0.9 belongs to another import or program.";
    assert.equal(readyOf(lost), `False VIPConflict: ${why}`);
    const { status: told } = status(lost ?? assert.fail(), seen);
    const own = wanted({ seen: byHand({ ips: ["241.0.0.7"] }, told as object), dispute });
    assert.deepEqual(own?.vips, ["241.0.0.7"]);
    assert.match(readyOf(own), /^True /);
  });

  test("keeps its essential fields if the spec of its user is lost", () => {
    const { authored, ...seen } = seenAfter(
      wanted({ seen: byHand({ ips: ["1.2.3.4"] }), records: [exportRecord()] }),
    );
    for (const lost of [seen, { ...seen, authored: "[]" }, { ...seen, authored: "{" }]) {
      assert.deepEqual(spec(wanted({ seen: lost })), {
        type: "ClusterSetIP",
        ports: [{ name: "http", protocol: "TCP", port: 80 }],
        ips: ["1.2.3.4"],
        ipFamilies: ["IPv4"],
      });
    }
    assert.ok(authored !== undefined);
  });

  test("keeps its explicit VIPs with an export of another family, and gets a new one within the limit", () => {
    const six = exportRecord({ families: ["IPv6"] });
    const ipsOf = (ips: string[], record: ExportRecord) => {
      const { ips: kept, families } = seenAfter(
        wanted({ seen: byHand({ ips }), records: [record] }),
      );
      return [kept, families];
    };
    assert.deepEqual(ipsOf(["1.2.3.4"], six), [
      ["fd00::6aeb", "1.2.3.4"],
      ["IPv6", "IPv4"],
    ]);
    assert.deepEqual(ipsOf(["1.2.3.4", "5.6.7.8"], six), [["1.2.3.4", "5.6.7.8"], []]);
    assert.deepEqual(ipsOf([], six), [["fd00::6aeb"], ["IPv6"]]);
  });
});

describe("while a cluster is not synced", () => {
  const [a, b] = [exportRecord(), exportRecord({ cluster: "c2", exported: 2000 })];
  const seen = seenAfter(wanted({ records: [a, b] }));
  const deaf = { isSynced: (cluster: string) => cluster !== "c2", allSynced: false };

  test("an import with its exports stays, and slices of other clusters are updated", () => {
    const kept = wanted({ records: [a], seen, ...deaf });
    assert.equal(kept?.reason, "not-heard");
    assert.deepEqual(Object.keys(kept), ["reason", "importing"]);
    assert.deepEqual(kept.importing?.ports, seen.ports);
  });

  test("an import says so in its condition as soon as that cluster is silent, and repeats the rest of its status", () => {
    const statusOf = (silent: string, kept = seen) =>
      wanted({ records: [a], seen: kept, ...deaf, isSilent: (id) => id === silent })?.status;
    const { claims: _, ...rest } = statusOf("c2") ?? assert.fail();
    assert.deepEqual(rest, { clusters: ["c1", "c2"], endpointSliceObjects: "Present" });
    assert.equal(readyOf({ status: statusOf("c2") }), `${READY} Left out: not-heard.`);
    assert.equal(statusOf("c1"), undefined, "c1 is synced");
    assert.equal(statusOf("c2", { ...seen, conditions: [] }), undefined, "no condition to repeat");
  });

  test("an import without exports is not deleted, because that cluster may export it", () => {
    const odd = { ...seen, clusters: [] };
    for (const kept of [seen, odd, { ...odd, origin: "adopted" } as const]) {
      assert.equal(wanted({ seen: kept, ...deaf })?.reason, "not-heard");
    }
  });

  test("an import without its exports is updated, and new ones are created", () => {
    const alone = seenAfter(wanted({ records: [a] }));
    assert.equal(wanted({ records: [a], seen: alone, ...deaf })?.reason, "exported");
    assert.equal(wanted({ records: [a], ...deaf })?.reason, "exported");
  });
});

describe("an import that lacks VIPs", () => {
  const pool = { ...POOL, ranges: cidrs("241.0.0.0/16") };

  test("has reason IPFamilyNotSupported without a range of its families, and Pending if that is full", () => {
    const made = wanted({ records: [exportRecord({ families: ["IPv6"] })], pool });
    assert.equal(readyOf(made), "False IPFamilyNotSupported: range-missing: no IPv6 address.");
    const full = { ...POOL, reserved: cidrs("241.0.0.0/16") };
    const waiting = wanted({ records: [exportRecord()], pool: full });
    assert.equal(readyOf(waiting), "False Pending: range-exhausted: no free IPv4 address.");
  });

  test("is ready with a VIP of one of two families, and its families are those of its VIPs", () => {
    const made = wanted({ records: [exportRecord({ families: ["IPv6", "IPv4"] })], pool });
    assert.equal(readyOf(made), `${READY} range-missing: no IPv6 address.`);
    assert.deepEqual(seenAfter(made).families, ["IPv4"]);
    assert.deepEqual(made?.importing?.families, ["IPv4"]);
  });
});

test("C06: there are as many families as VIPs, in the same order, one each", () =>
  forAll([ANY_RECORDS], (records) => {
    fc.pre(records.length > 0);
    const { headless, ips, families } = seenAfter(wanted({ records }));
    if (headless) assert.deepEqual(ips, []);
    else {
      const ofVips = ips.map((ip) => (ip.includes(":") ? "IPv6" : "IPv4"));
      assert.deepEqual(ofVips, families);
    }
  }));

test("a user's import whose spec is not kept is not adopted, keeps its VIP, and says so until there is room", () => {
  const whole = byHand({ ips: ["1.2.3.4"] });
  const seen = reducedImport(whole);
  const made = wanted({ seen, records: [exportRecord()] });
  assert.deepEqual(
    [made?.reason, made?.object, made?.importing, made?.vips],
    ["too-much-memory", undefined, undefined, ["1.2.3.4"]],
  );
  assert.match(readyOf(made), /^False \S+ too-much-memory: /);
  assert.equal(wanted({ seen })?.reason, "by-hand", "nothing would be written of its spec");
  assert.ok(made !== undefined);
  const { status: told } = status(made, seen);
  const again = wanted({ seen: byHand({ ips: ["1.2.3.4"] }, told as object) });
  assert.equal(readyOf(again), "True Ready: ClusterSetIP 1.2.3.4.");
});

test("a user's import without room keeps addresses that nobody can read, and gets no VIP in their place", () => {
  const seen = reducedImport(byHand({ ips: ["x".repeat(100)] }));
  assert.deepEqual(
    [wanted({ seen })?.object, seen.ips],
    [undefined, ["x".repeat(64)]],
    "of what is kept of the text, nothing is written",
  );
  const made = wanted({ seen: reducedImport(byHand({})) });
  assert.deepEqual(made?.vips, ["241.0.245.1"], "one that asks for a VIP gets it");
});

test("a user's headless import that had no room does not say so for ever", () => {
  const whole = byHand({ type: "Headless" });
  const made = wanted({ seen: reducedImport(whole), records: [exportRecord({ headless: true })] });
  assert.ok(made !== undefined);
  const { status: told } = status(made, whole);
  const again = wanted({ seen: byHand({ type: "Headless" }, told as object) });
  assert.match(readyOf(again), /^True /);
});
