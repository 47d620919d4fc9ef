import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { ANNOTATION_IMPORT } from "../../api/keys.ts";
import { ANY_RECORDS, exportRecord, KEY } from "../../test/support/export-records.ts";
import type { VipPool } from "../allocate/pool.ts";
import { merge } from "../merge/merge.ts";
import type { ExportRecord, ImportFact } from "../model/facts.ts";
import type { Manifest } from "../model/manifest.ts";
import { parseImport } from "../model/parse-import.ts";
import { type ImportSight, type ImportWanted, importOf } from "./import-of.ts";
import { importStatus } from "./status-manifest.ts";

function cidrs(...texts: readonly string[]): Cidr[] {
  return texts.map(parseCidr).filter(isCidr);
}

const POOL: VipPool = {
  ranges: cidrs("241.0.0.0/16", "fd00::/112"),
  taken: new Set(),
  reserved: [],
};

/** An import as a person writes it, and an API server has it. */
function byHand(spec: object = {}, status: object = {}): ImportFact {
  const { fact } = parseImport({
    metadata: { namespace: "demo", name: "serve" },
    spec: { type: "ClusterSetIP", ports: [{ port: 80, protocol: "TCP" }], ...spec },
    status,
  });
  assert.ok(fact !== undefined);
  return fact;
}

const BY_HAND = byHand();

interface Sight extends Partial<Omit<ImportSight, "merged">> {
  readonly records?: readonly ExportRecord[];
}

function wanted({ records = [], ...over }: Sight): ImportWanted | undefined {
  const merged = merge(records);
  return importOf({
    key: KEY,
    pool: POOL,
    isHeard: () => true,
    allHeard: true,
    ...(merged !== undefined && { merged }),
    ...over,
  });
}

/** The object as the API server has it after the write, with a status. */
function seenAfter(wanted: ImportWanted | undefined): ImportFact {
  assert.ok(wanted?.object !== undefined && wanted.status !== undefined);
  const { fact } = parseImport({ ...wanted.object, status: status(wanted, BY_HAND).status });
  assert.ok(fact !== undefined);
  return fact;
}

function status({ status }: ImportWanted, seen: ImportFact, now = 0): Manifest {
  assert.ok(status !== undefined);
  return importStatus(seen, status, now);
}

/** `spec` of what is applied. */
function spec(wanted: ImportWanted | undefined): unknown {
  return wanted?.object?.spec;
}

test("an export makes an import with all of the Service's properties, and one VIP a family in its order", () => {
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

test("the status names the exporters and says that slices are there, ready at the time of the write", () => {
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

test("C10, C11: a headless import has no VIP, says so with an empty list, and names its families", () => {
  const made = wanted({ records: [exportRecord({ headless: true, families: ["IPv4", "IPv6"] })] });
  assert.deepEqual(spec(made), {
    type: "Headless",
    ports: [{ name: "http", protocol: "TCP", port: 80 }],
    sessionAffinity: "None",
    ips: [],
    ipFamilies: ["IPv4", "IPv6"],
  });
  assert.equal(made?.status?.claims[0]?.status, "True");
});

test("what was written is wanted again, to the byte, whatever else was allocated since", () => {
  fc.assert(
    fc.property(ANY_RECORDS, fc.array(fc.ipV4()), (records, others) => {
      fc.pre(records.length > 0);
      const first = wanted({ records });
      const seen = seenAfter(first);
      const pool = { ...POOL, taken: new Set([...seen.ips, ...others]) };
      const again = wanted({ records, seen, pool });
      assert.equal(JSON.stringify(again), JSON.stringify(first));
      assert.ok(first !== undefined && again !== undefined);
      const [before, later] = [status(first, BY_HAND, 0), status(again, seen, 1e12)];
      assert.equal(JSON.stringify(later), JSON.stringify(before));
    }),
  );
});

test("C01: an import with an exporter left keeps its VIPs, and goes with the last one", () => {
  const [a, b] = [exportRecord(), exportRecord({ cluster: "c2", exported: 2000 })];
  const seen = seenAfter(wanted({ records: [a, b] }));
  const left = wanted({ records: [b], seen });
  assert.equal(left?.reason, "exported");
  assert.deepEqual(seenAfter(left).ips, seen.ips);
  assert.deepEqual(seenAfter(left).clusters, ["c2"]);
  assert.deepEqual(wanted({ seen }), { reason: "withdrawn", remove: true });
});

describe("an import that somebody wrote by hand", () => {
  test("gets the VIP that it lacks, and not one field more", () => {
    const given = wanted({ seen: BY_HAND });
    assert.equal(given?.reason, "by-hand");
    assert.deepEqual(spec(given), { ips: ["241.0.245.1"] });
    assert.deepEqual(Object.keys(given), ["reason", "object"]);
    const both = wanted({ seen: byHand({ ipFamilies: ["IPv6", "IPv4"] }) });
    assert.deepEqual(spec(both), { ips: ["fd00::6aeb", "241.0.245.1"] });
  });

  test("keeps what is explicit, outside the range, too, and even if it is no address", () => {
    for (const ips of [["1.2.3.4"], ["1.2.3.4", "5.6.7.8"], ["x"]]) {
      assert.deepEqual(wanted({ seen: byHand({ ips }) }), { reason: "by-hand" });
    }
    assert.deepEqual(wanted({ seen: byHand({ type: "Headless" }) }), { reason: "by-hand" });
  });

  test("is told if no VIP is free, and that it has one as soon as it has", () => {
    const full = { ...POOL, ranges: cidrs("241.0.0.0/30"), reserved: cidrs("241.0.0.0/8") };
    const lacking = wanted({ seen: BY_HAND, pool: full });
    assert.ok(lacking !== undefined && lacking.object === undefined);
    const { fact } = parseImport({
      ...status(lacking, BY_HAND),
      spec: { type: "ClusterSetIP", ports: [] },
    });
    assert.ok(fact !== undefined);
    assert.match(fact.conditions[0]?.message ?? "", /^range-exhausted: /);
    assert.equal(fact.conditions[0]?.reason, "Pending");
    assert.equal(wanted({ seen: fact })?.status?.claims[0]?.status, "True");
    assert.equal(
      wanted({ seen: { ...fact, ips: ["241.0.0.9"] } })?.status?.claims[0]?.status,
      "True",
    );
  });

  test("is adopted with its VIPs by an export, and is its author's again after the last", () => {
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
    assert.deepEqual(wanted({ seen: seenAfter(released) }), { reason: "by-hand" });
  });

  test("keeps what the controller can know of it if its author's words are lost", () => {
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

  test("has its explicit VIP again after a headless export had its turn", () => {
    const headless = exportRecord({ headless: true, exported: 1 });
    const turned = seenAfter(wanted({ seen: byHand({ ips: ["1.2.3.4"] }), records: [headless] }));
    assert.deepEqual([turned.headless, turned.ips], [true, []]);
    const back = seenAfter(wanted({ seen: turned, records: [exportRecord()] }));
    assert.deepEqual([back.headless, back.ips], [false, ["1.2.3.4"]]);
    assert.deepEqual(seenAfter(wanted({ seen: turned })).ips, ["1.2.3.4"]);
  });

  test("loses no explicit VIP to an export of another family, and takes a new one where there is room", () => {
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

describe("as long as a cluster has not been heard", () => {
  const [a, b] = [exportRecord(), exportRecord({ cluster: "c2", exported: 2000 })];
  const seen = seenAfter(wanted({ records: [a, b] }));
  const deaf = { isHeard: (cluster: string) => cluster !== "c2", allHeard: false };

  test("an import that it took part in stays, and the others' slices go on for its ports", () => {
    const kept = wanted({ records: [a], seen, ...deaf });
    assert.equal(kept?.reason, "not-heard");
    assert.deepEqual(Object.keys(kept), ["reason", "importing"]);
    assert.deepEqual(kept.importing?.ports, seen.ports);
  });

  test("nothing ends: an import without any export may be that cluster's", () => {
    const odd = { ...seen, clusters: [] };
    for (const kept of [seen, odd, { ...odd, origin: "adopted" } as const]) {
      assert.equal(wanted({ seen: kept, ...deaf })?.reason, "not-heard");
    }
  });

  test("an import that it took no part in follows its exporters, and a new one is made", () => {
    const alone = seenAfter(wanted({ records: [a] }));
    assert.equal(wanted({ records: [a], seen: alone, ...deaf })?.reason, "exported");
    assert.equal(wanted({ records: [a], ...deaf })?.reason, "exported");
  });
});

describe("an import that cannot have its VIPs", () => {
  const ready = (pool: VipPool, record: Partial<ExportRecord> = {}) => {
    const made = wanted({ records: [exportRecord(record)], pool });
    const [claim] = made?.status?.claims ?? [];
    return [claim?.status, claim?.reason, claim?.message];
  };

  test("says IPFamilyNotSupported if this cluster has no range of its families", () => {
    assert.deepEqual(ready({ ...POOL, ranges: cidrs("241.0.0.0/16") }, { families: ["IPv6"] }), [
      "False",
      "IPFamilyNotSupported",
      "range-missing: no IPv6 address.",
    ]);
  });

  test("says Pending if the range is full", () => {
    assert.deepEqual(ready({ ...POOL, reserved: cidrs("241.0.0.0/16") }), [
      "False",
      "Pending",
      "range-exhausted: no IPv4 address.",
    ]);
  });

  test("is ready with the one of two families that it has, and its families are those of its VIPs", () => {
    const pool = { ...POOL, ranges: cidrs("241.0.0.0/16") };
    const families = ["IPv6", "IPv4"] as const;
    assert.deepEqual(ready(pool, { families }), [
      "True",
      "Ready",
      "ClusterSetIP 241.0.245.1. range-missing: no IPv6 address.",
    ]);
    const made = wanted({ records: [exportRecord({ families })], pool });
    assert.deepEqual(seenAfter(made).families, ["IPv4"]);
    assert.deepEqual(made?.importing?.families, ["IPv4"]);
  });
});

test("C06: there are as many families as VIPs, in the same order, one each", () => {
  fc.assert(
    fc.property(ANY_RECORDS, (records) => {
      fc.pre(records.length > 0);
      const { headless, ips, families } = seenAfter(wanted({ records }));
      if (headless) assert.deepEqual(ips, []);
      else {
        assert.deepEqual(
          ips.map((ip) => (ip.includes(":") ? "IPv6" : "IPv4")),
          families,
        );
      }
    }),
  );
});

test("without exports and without an import there is nothing to do", () => {
  assert.equal(wanted({}), undefined);
  assert.equal(wanted({ allHeard: false, isHeard: () => false }), undefined);
});
