import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { objectKey } from "../../api/names.ts";
import { exportRecord, KEY, servicePort } from "../../test/generators/export-records.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { cidrs } from "../../test/generators/wanted-imports.ts";
import type { Contribution } from "../import/imported-slices.ts";
import { merge } from "../merge/merge.ts";
import type { EndpointFact, ServicePort, ServiceProperties, SliceFact } from "../model/facts.ts";
import type { FailoverSliceFact } from "../model/parse-failover-slice.ts";
import { parseServiceSlice } from "../model/parse-service-slice.ts";
import type { FailoverInput } from "./failover-input.ts";
import { failoverOf, MOST_FAILOVER_ENDPOINTS, MOST_FAILOVER_SLICES } from "./failover-of.ts";
import { LocalEndpoints } from "./local-endpoints.ts";

const READY = { ready: true, serving: true, terminating: false };
const LEAVING = { ready: false, serving: true, terminating: true };
const DEAD = { ready: false, serving: false, terminating: false };
const HTTP = servicePort("http 80");
const ADMIN = servicePort("admin 81");

function sliceOf(cluster: string, index: number, over: Partial<SliceFact> = {}): SliceFact {
  const address = over.family === "IPv6" ? `fd00:10::${index}` : `10.0.0.${index}`;
  return {
    key: objectKey(`clusterset-registry-${cluster}`, `serve.demo.${index}`),
    ...{ service: KEY, family: "IPv4", ports: [HTTP], endpoints: [{ address, ...READY }] },
    ...over,
  };
}

/** A slice with endpoints in these states. */
function holding(cluster: string, endpoints: Readonly<Record<string, typeof READY>>): SliceFact {
  const all = Object.entries(endpoints).map(([address, state]) => ({ address, ...state }));
  return sliceOf(cluster, 2, { endpoints: all });
}

/** The share of a cluster in region `eu`, or another. */
function share(
  cluster: string,
  slices: readonly SliceFact[] = [sliceOf(cluster, 1)],
  over: Partial<Contribution> & { region?: string; ports?: readonly ServicePort[] } = {},
): Contribution {
  const { region = "eu", ports = [HTTP], ...rest } = over;
  const record = exportRecord({ cluster, ports, families: ["IPv4", "IPv6"] });
  return { record, slices, state: "alive", cluster: { region, properties: {} }, ...rest };
}

/** The cluster's own Service, with these properties. */
const serviceWith = (over: Partial<ServiceProperties>) => ({
  ...{ key: KEY, uid: "u1", properties: { ...exportRecord(), ports: [HTTP], ...over } },
});
/** A cluster of another region. */
const FAR = share("c3", [sliceOf("c3", 3)], { region: "us" });
const isNotC2 = (cluster: string) => cluster !== "c2";
/** c2 was not listed since the start, and is out of rotation. */
const SILENT = { isSynced: isNotC2, isInRotation: isNotC2 };

function wanted(contributions: readonly Contribution[], over: Partial<FailoverInput> = {}) {
  const merged = merge(contributions.map(({ record }) => record));
  const clusters = contributions.map(({ record }) => record.cluster);
  return failoverOf({
    service: serviceWith({ ports: [HTTP, ADMIN], families: ["IPv4", "IPv6"] }),
    ...(merged !== undefined && { merged }),
    contributions,
    allSynced: true,
    everySynced: true,
    others: clusters,
    tiers: {},
    here: { cluster: "c1", region: "eu" },
    declared: new Map(clusters.map((cluster) => [cluster, cidrs("10.0.0.0/8")])),
    present: [],
    local: new LocalEndpoints([]),
    isSynced: () => true,
    isInRotation: () => true,
    ...over,
  });
}

/** A present failover slice of a cluster. */
function present(cluster: string, over: Partial<FailoverSliceFact> = {}): FailoverSliceFact {
  const key = objectKey("demo", `serve.${cluster}.failover.0`);
  return { key, cluster, family: "IPv4", ports: [HTTP], addresses: ["10.0.0.9"], ...over };
}

/** Cluster, ports and addresses of each slice, in order. */
function listed(contributions: readonly Contribution[], over: Partial<FailoverInput> = {}) {
  const lines = wanted(contributions, over).slices.map((slice) => {
    const { fact } = parseServiceSlice({
      ...slice,
      metadata: { ...slice.metadata, labels: { "kubernetes.io/service-name": "serve" } },
    });
    const cluster = slice.metadata.labels?.["multicluster.kubernetes.io/source-cluster"];
    const ports = fact?.ports.map(({ name }) => name).join();
    return `${cluster} ${ports} ${fact?.endpoints.map(({ address }) => address).join()}`;
  });
  return lines.sort();
}

test("each port has its own nearest tier: one that only a farther cluster serves is listed from there", () => {
  const near = share("c2", [sliceOf("c2", 2)]);
  const far = share("c3", [sliceOf("c3", 3, { ports: [HTTP, ADMIN] })], {
    region: "us",
    ports: [HTTP, ADMIN],
  });
  assert.deepEqual(listed([near, far]), ["c2 http 10.0.0.2", "c3 admin 10.0.0.3"]);
});

test("own endpoints and unready ones are never listed; serving ones only where no tier has a ready one", () => {
  const own = share("c1");
  const mixed = holding("c2", { "10.0.0.21": LEAVING, "10.0.0.22": DEAD });

  assert.deepEqual(listed([own, share("c2", [mixed])]), ["c2 http 10.0.0.21"]);
  assert.deepEqual(listed([own, share("c2", [mixed]), FAR]), ["c3 http 10.0.0.3"]);
  const stale = { ...FAR, state: "stale" } as const;
  assert.deepEqual(listed([own, share("c2", [mixed]), stale]), ["c2 http 10.0.0.21"]);
  assert.equal(wanted([own]).reason, "not-exported-elsewhere");
  const dead = holding("c2", { "10.0.0.22": DEAD });
  assert.equal(wanted([own, share("c2", [dead])]).reason, "no-remote-endpoint");
});

test("without local endpoints, every listed one is serving and terminating, without node, zone and hostname, whatever it is in its cluster", () => {
  const endpoint: EndpointFact = {
    ...{ address: "10.0.0.2", nodeName: "n1", zone: "z1", hostname: "web-0" },
    ...READY,
  };
  const { slices } = wanted([share("c2", [sliceOf("c2", 2, { endpoints: [endpoint] })])]);
  const endpoints = slices.map((slice) => slice.endpoints);
  assert.deepEqual(endpoints, [[{ addresses: ["10.0.0.2"], conditions: LEAVING }]]);
});

test("the Service's families and port names decide what a proxy could use of it", () => {
  const six = share("c2", [sliceOf("c2", 2, { family: "IPv6" })]);
  const both = serviceWith({ families: ["IPv6", "IPv4"] });
  assert.deepEqual(listed([six], { service: both }), ["c2 http fd00:10::2"]);
  const four = serviceWith({ families: ["IPv4"] });
  assert.equal(wanted([six], { service: four }).reason, "family-not-merged");
  const other = serviceWith({ ports: [servicePort("web 81")] });
  assert.equal(wanted([share("c2")], { service: other }).reason, "port-not-merged");
});

test("a port has the Service's name, whatever the import and the other cluster call it", () => {
  const web = [servicePort("web 80")];
  const service = serviceWith({ ports: web });
  const remote = share("c2", [sliceOf("c2", 2)]);
  for (const all of [[remote], [share("c1", [], { ports: web }), remote]])
    assert.deepEqual(listed(all, { service }), ["c2 web 10.0.0.2"]);
});

test("an exporter without declared ranges, or with ranges of every address, is not used", () => {
  const both = [share("c2"), share("c3", [sliceOf("c3", 3)])];
  const declared = new Map([
    ["c2", cidrs("0.0.0.0/0")],
    ["c3", cidrs("10.0.0.0/8")],
  ]);
  assert.deepEqual(listed(both, { declared }), ["c3 http 10.0.0.3"]);
  declared.delete("c3");
  assert.equal(wanted(both, { declared }).reason, "endpoint-cidrs-open");
  declared.delete("c2");
  assert.equal(wanted(both, { declared }).reason, "endpoint-cidrs-missing");
  const unread = wanted([share("c1")], { declared, everySynced: false, others: ["c2"] });
  assert.equal(unread.reason, "endpoint-cidrs-missing", "its registry is not read");
});

test("slices of a cluster that was not listed since the start stay while it counts as alive; those of others follow", () => {
  const unlisted = { present: [present("c2"), present("c3")], isSynced: isNotC2 };
  assert.deepEqual(listed([FAR], unlisted), ["c2 http 10.0.0.9", "c3 http 10.0.0.3"]);
  const { reason, clusters } = wanted([FAR], unlisted);
  assert.deepEqual([reason, clusters], ["not-heard", ["c2", "c3"]]);
  assert.deepEqual(listed([], unlisted), ["c2 http 10.0.0.9"], "c3 is known to export nothing");
  assert.deepEqual(listed([], { ...unlisted, allSynced: false }), ["c2 http 10.0.0.9"]);
  assert.deepEqual(listed([], { present: [present("c2")] }), [], "c2 is known to export nothing");
});

test("slices of a cluster that was not listed since the start make way, once it is out of rotation, for ready endpoints only", () => {
  const silent = { ...SILENT, present: [present("c2")] };
  assert.deepEqual(listed([FAR], silent), ["c3 http 10.0.0.3"]);
  assert.deepEqual(listed([], silent), ["c2 http 10.0.0.9"], "better than none");
  const leaving = share("c3", [holding("c3", { "10.0.0.3": LEAVING })]);
  for (const last of [leaving, { ...FAR, state: "stale" } as const])
    assert.deepEqual(listed([last], silent), ["c2 http 10.0.0.9", "c3 http 10.0.0.3"]);
  for (const ranges of [cidrs("0.0.0.0/0"), undefined]) {
    const declared = new Map([["c2", cidrs("10.0.0.0/8")]]);
    if (ranges !== undefined) declared.set("c3", ranges);
    assert.deepEqual(listed([FAR], { ...silent, declared }), ["c2 http 10.0.0.9"]);
  }
});

test("a slice of a cluster that was not listed keeps only ports of the Service, and once out of rotation, ports and families that no other cluster has ready", () => {
  const unlisted = { isSynced: isNotC2 };
  const old = [present("c2", { ports: [HTTP, ADMIN, servicePort("gone 82")] })];
  const alive = listed([FAR], { ...unlisted, present: old });
  assert.deepEqual(alive, ["c2 http,admin 10.0.0.9", "c3 http 10.0.0.3"]);
  const dead = listed([FAR], { ...SILENT, present: old });
  assert.deepEqual(dead, ["c2 admin 10.0.0.9", "c3 http 10.0.0.3"]);
  const six = present("c2", { family: "IPv6", addresses: ["fd00:10::9"] });
  const kept = ["c2 http fd00:10::9", "c3 http 10.0.0.3"];
  assert.deepEqual(listed([FAR], { ...SILENT, present: [six] }), kept);
  const gone = present("c2", { ports: [servicePort("gone 82")] });
  assert.deepEqual(listed([], { ...unlisted, present: [gone] }), []);
  const local = new LocalEndpoints([holding("c1", { "10.0.0.9": DEAD })]);
  assert.deepEqual(listed([], { ...unlisted, local, present: [present("c2")] }), []);
});

test("of clusters that were not listed, at most as many slices stay as a Service may have, and they take nothing from others", () => {
  const many = Array.from({ length: MOST_FAILOVER_SLICES + 20 }, (_, i) =>
    present("c2", { key: objectKey("demo", `serve.c2.failover.${i}`) }),
  );
  const all = listed([FAR], { present: many, isSynced: isNotC2 });
  assert.equal(all.length, MOST_FAILOVER_SLICES + 1);
  assert.ok(all.includes("c3 http 10.0.0.3"));
});

test("endpoints of other clusters are ready while the last local ones terminate, for each family and slice", () => {
  const conditionsOf = (local: readonly SliceFact[], over: Partial<FailoverInput> = {}) => {
    const six = sliceOf("c2", 6, { family: "IPv6" });
    const both = sliceOf("c2", 2, { ports: [HTTP, ADMIN] });
    const from = share("c2", [both, six], { ports: [HTTP, ADMIN] });
    const { slices, reason } = wanted([from], { local: new LocalEndpoints(local), ...over });
    const states = slices.map(({ addressType, endpoints }) => {
      const [endpoint] = endpoints as { conditions: unknown }[];
      return [addressType, endpoint?.conditions] as const;
    });
    return [reason, Object.fromEntries(states)];
  };
  const own = (...conditions: readonly (typeof READY)[]) =>
    sliceOf("c1", 1, {
      ports: [HTTP, ADMIN],
      endpoints: conditions.map((one, i) => ({ address: `10.1.0.${i}`, ...one })),
    });
  const last = ["failover-prepared", { IPv4: LEAVING, IPv6: LEAVING }];
  const four = ["local-terminating", { IPv4: READY, IPv6: LEAVING }];
  assert.deepEqual(conditionsOf([own(LEAVING, DEAD)]), four);
  assert.deepEqual(conditionsOf([own(LEAVING), own(LEAVING)]), four);
  assert.deepEqual(conditionsOf([]), last, "they are all that there is");
  assert.deepEqual(conditionsOf([own(DEAD)]), last);
  assert.deepEqual(conditionsOf([own(READY, LEAVING)]), last);
  assert.deepEqual(conditionsOf([own(LEAVING), own(READY)]), last);
  const unready = { ready: false, serving: true, terminating: false };
  assert.deepEqual(conditionsOf([own(unready)]), last, "no proxy uses it");
  const http = { ...own(LEAVING), ports: [HTTP] };
  const admin = { ...own(READY), ports: [ADMIN] };
  assert.deepEqual(conditionsOf([http, admin]), last, "a slice has one state for all its ports");
  assert.deepEqual(conditionsOf([http]), four, "no local endpoint has the other port");
});

test("endpoints that are not ready in their cluster, or of one that is stale or not heard, never are", () => {
  const local = new LocalEndpoints([holding("c1", { "10.1.0.1": LEAVING })]);
  const leaving = holding("c2", { "10.0.0.2": LEAVING });
  const shown = (contributions: readonly Contribution[], over: Partial<FailoverInput> = {}) =>
    wanted(contributions, { local, ...over }).slices.map(({ endpoints }) => endpoints);
  const last = [[{ addresses: ["10.0.0.2"], conditions: LEAVING }]];
  assert.deepEqual(shown([share("c2", [leaving])]), last);
  assert.deepEqual(shown([share("c2", [sliceOf("c2", 2)], { state: "stale" })]), last);
  const before = present("c2", { addresses: ["10.0.0.2"] });
  assert.deepEqual(shown([], { present: [before], isSynced: () => false }), last);
});

test("an address that the Service's own slices list is left out, whichever cluster claims it", () => {
  const both = holding("c2", { "10.0.0.1": READY, "10.0.0.2": READY });
  const local = new LocalEndpoints([holding("c1", { "10.0.0.1": DEAD })]);
  assert.deepEqual(listed([share("c2", [both])], { local }), ["c2 http 10.0.0.2"]);
  assert.deepEqual(listed([share("c2"), FAR], { local }), ["c3 http 10.0.0.3"]);
  const { reason, slices } = wanted([share("c2")], { local });
  assert.deepEqual([reason, slices], ["endpoint-local", []]);
});

test("an endpoint that does not serve is never listed, also if its Service publishes it as ready", () => {
  const slice = holding("c2", { "10.0.0.2": { ready: true, serving: false, terminating: false } });

  assert.deepEqual(listed([share("c2", [slice])]), []);
  assert.equal(wanted([share("c2", [slice])]).reason, "no-remote-endpoint");
});

test("a Service whose clients stay on their node has no failover, and one that publishes unready endpoints a reason of its own", () => {
  const service = serviceWith({ internalTrafficPolicy: "Local" });
  const local = wanted([share("c2")], { service });
  assert.deepEqual([local.reason, local.slices], ["traffic-policy-local", []]);
  const publishing = { ...serviceWith({}), publishesUnready: true };
  const unready = wanted([share("c2")], { service: publishing });
  assert.deepEqual([unready.reason, unready.slices.length], ["unready-published", 1]);
});

test("a Service has at most 1,000 endpoints and 100 slices of a family, of which each cluster has at least an equal share", async () => {
  const families = ["IPv4", "IPv6"] as const;
  const addressOf = { IPv4: (j: number) => `0.${j >> 8}.${j & 255}`, IPv6: (j: number) => `:${j}` };
  const many = (cluster: string, slices: number, endpoints: number) => {
    const slice = (family: (typeof families)[number], i: number) =>
      sliceOf(cluster, i, {
        key: objectKey(`clusterset-registry-${cluster}`, `serve.demo.${family}.${i}`),
        family,
        endpoints: Array.from({ length: endpoints }, (_, j) => ({
          address: `${family === "IPv4" ? "10." : "fd00:10:"}${addressOf[family](j)}`,
          ...READY,
        })),
      });
    const numbers = Array.from({ length: slices }, (_, i) => i);
    return share(
      cluster,
      families.flatMap((family) => numbers.map((i) => slice(family, i))),
    );
  };
  const shape = fc.record({
    slices: fc.integer({ min: 1, max: 130 }),
    size: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(400, 1000)),
  });
  await forMany(20, [shape, shape, shape], (...shapes) => {
    const given = shapes.map(({ slices, size }, i) => many(`c${i + 2}`, slices, size));
    const { slices: list, clusters, reason } = wanted(given);
    const counted = (family: string, cluster?: string) =>
      list
        .filter(
          ({ addressType, metadata: { labels } }) =>
            addressType === family &&
            (cluster === undefined ||
              labels?.["multicluster.kubernetes.io/source-cluster"] === cluster),
        )
        .map(({ endpoints }) => (Array.isArray(endpoints) ? endpoints.length : 0));
    const sum = (counts: readonly number[]) => counts.reduce((a, b) => a + b, 0);
    let isAll = true;
    for (const family of families) {
      assert.ok(counted(family).length <= MOST_FAILOVER_SLICES);
      assert.ok(sum(counted(family)) <= MOST_FAILOVER_ENDPOINTS);
      for (const [i, { slices, size }] of shapes.entries()) {
        const fair = Math.floor(MOST_FAILOVER_ENDPOINTS / shapes.length);
        const offered = Math.min(slices, Math.floor(MOST_FAILOVER_SLICES / shapes.length)) * size;
        const has = sum(counted(family, `c${i + 2}`));
        assert.ok(has >= Math.min(offered, fair), `c${i + 2} has ${has} of ${offered}`);
        isAll &&= has === slices * size;
      }
    }
    assert.equal(reason, isAll ? "failover-prepared" : "failover-limit");
    assert.deepEqual(clusters, ["c2", "c3", "c4"]);
    const names = list.map(({ metadata }) => metadata.name);
    assert.equal(new Set(names).size, names.length);
  });
});

test("a Service without room in memory keeps its slices, also after a restart while its hub is down", () => {
  const service = { ...serviceWith({ ports: [], families: ["IPv4"] }), isReduced: true as const };
  const before = { service, present: [present("c2"), present("c3")] };
  assert.equal(wanted([share("c2")], before).reason, "too-much-memory");
  assert.deepEqual(listed([share("c2")], before), ["c2 http 10.0.0.9"], "c3 has withdrawn it");
  assert.equal(listed([], { ...before, isSynced: () => false }).length, 2);
});
