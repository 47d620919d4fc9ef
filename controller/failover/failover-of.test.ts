import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { objectKey } from "../../api/names.ts";
import { exportRecord, KEY, servicePort } from "../../test/generators/export-records.ts";
import type { Contribution } from "../import/imported-slices.ts";
import { merge } from "../merge/merge.ts";
import type { EndpointFact, ServicePort, SliceFact } from "../model/facts.ts";
import { parseServiceSlice } from "../model/parse-service-slice.ts";
import { type FailoverInput, failoverOf } from "./failover-of.ts";
import { MOST_FAILOVER_ENDPOINTS, MOST_FAILOVER_SLICES } from "./within-limits.ts";

const READY = { ready: true, serving: true, terminating: false };
const LEAVING = { ready: false, serving: true, terminating: true };
const DEAD = { ready: false, serving: false, terminating: false };
const HTTP = servicePort("http 80");
const ADMIN = servicePort("admin 81");

function cidrs(...texts: string[]): Cidr[] {
  return texts.map(parseCidr).filter(isCidr);
}

function sliceOf(cluster: string, index: number, over: Partial<SliceFact> = {}): SliceFact {
  return {
    key: objectKey(`clusterset-registry-${cluster}`, `serve.demo.${index}`),
    service: KEY,
    family: "IPv4",
    ports: [HTTP],
    endpoints: [{ address: `10.0.0.${index}`, ...READY }],
    ...over,
  };
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

function wanted(contributions: readonly Contribution[], over: Partial<FailoverInput> = {}) {
  const merged = merge(contributions.map(({ record }) => record));
  const clusters = contributions.map(({ record }) => record.cluster);
  return failoverOf({
    service: {
      key: KEY,
      uid: "u1",
      properties: { ...exportRecord(), ports: [HTTP, ADMIN], families: ["IPv4", "IPv6"] },
    },
    ...(merged !== undefined && { merged }),
    contributions,
    allSynced: true,
    everySynced: true,
    others: clusters,
    tiers: {},
    here: { cluster: "c1", region: "eu" },
    declared: new Map(clusters.map((cluster) => [cluster, cidrs("10.0.0.0/8")])),
    present: [],
    isSynced: () => true,
    isInRotation: () => true,
    ...over,
  });
}

/** Cluster, ports and addresses of each slice. */
function listed(contributions: readonly Contribution[], over: Partial<FailoverInput> = {}) {
  const { slices } = wanted(contributions, over);
  if (slices === "keep") return slices;
  return slices.map((slice) => {
    const { fact } = parseServiceSlice({
      ...slice,
      metadata: { ...slice.metadata, labels: { "kubernetes.io/service-name": "serve" } },
    });
    const cluster = slice.metadata.labels?.["multicluster.kubernetes.io/source-cluster"];
    const ports = fact?.ports.map(({ name }) => name).join();
    return `${cluster} ${ports} ${fact?.endpoints.map(({ address }) => address).join()}`;
  });
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
  const mixed = sliceOf("c2", 2, {
    endpoints: [
      { address: "10.0.0.21", ...LEAVING },
      { address: "10.0.0.22", ...DEAD },
    ],
  });
  assert.deepEqual(listed([own, share("c2", [mixed])]), ["c2 http 10.0.0.21"]);
  const far = share("c3", [sliceOf("c3", 3)], { region: "us" });
  assert.deepEqual(listed([own, share("c2", [mixed]), far]), ["c3 http 10.0.0.3"]);
  const stale = share("c3", [sliceOf("c3", 3)], { region: "us", state: "stale" });
  assert.deepEqual(listed([own, share("c2", [mixed]), stale]), ["c2 http 10.0.0.21"]);
  assert.equal(wanted([own]).reason, "not-exported-elsewhere");
  const dead = sliceOf("c2", 2, { endpoints: [{ address: "10.0.0.22", ...DEAD }] });
  assert.equal(wanted([own, share("c2", [dead])]).reason, "no-remote-endpoint");
});

test("every listed endpoint is serving and terminating, without node, zone and hostname, whatever it is in its cluster", () => {
  const endpoint: EndpointFact = {
    ...{ address: "10.0.0.2", nodeName: "n1", zone: "z1", hostname: "web-0" },
    ...READY,
  };
  const { slices } = wanted([share("c2", [sliceOf("c2", 2, { endpoints: [endpoint] })])]);
  assert.ok(slices !== "keep");
  assert.deepEqual(
    slices.map((slice) => slice.endpoints),
    [[{ addresses: ["10.0.0.2"], conditions: LEAVING }]],
  );
});

test("the Service's families and port names decide what a proxy could use of it", () => {
  const six = sliceOf("c2", 2, {
    family: "IPv6",
    endpoints: [{ address: "fd00:10::2", ...READY }],
  });
  const service = (over: object) => ({
    service: { key: KEY, uid: "u1", properties: { ...exportRecord(), ports: [HTTP], ...over } },
  });
  const both = service({ families: ["IPv6", "IPv4"] });
  assert.deepEqual(listed([share("c2", [six])], both), ["c2 http fd00:10::2"]);
  const four = service({ families: ["IPv4"] });
  assert.equal(wanted([share("c2", [six])], four).reason, "family-not-merged");
  const other = service({ ports: [servicePort("web 80")] });
  assert.equal(wanted([share("c2")], other).reason, "port-not-merged");
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

test("slices of a cluster that was not listed since the start stay, and make way for ready ones once it is out of rotation", () => {
  const far = share("c3", [sliceOf("c3", 3)], { region: "us" });
  const unlisted = { present: ["c2"], isSynced: (cluster: string) => cluster !== "c2" };
  assert.equal(listed([far], unlisted), "keep");
  const silent = { ...unlisted, isInRotation: (cluster: string) => cluster !== "c2" };
  assert.deepEqual(listed([far], silent), ["c3 http 10.0.0.3"]);
  assert.equal(listed([], silent), "keep", "better than none");
  assert.equal(listed([], { ...silent, allSynced: false }), "keep");
  assert.deepEqual(listed([], { present: ["c2"] }), [], "it is known to export nothing");
});

test("a Service has at most 1,000 endpoints and 100 slices of a family, of which each cluster keeps a part", () => {
  const many = (cluster: string, slices: number, endpoints: number) =>
    share(
      cluster,
      Array.from({ length: slices }, (_, i) =>
        sliceOf(cluster, i, {
          endpoints: Array.from({ length: endpoints }, (_, j) => ({
            address: `10.${Number(cluster.slice(1))}.${i}.${j}`,
            ...READY,
          })),
        }),
      ),
    );
  fc.assert(
    fc.property(fc.nat(130), fc.integer({ min: 1, max: 100 }), fc.nat(20), (slices, size, more) => {
      const {
        reason,
        slices: list,
        clusters,
      } = wanted([many("c2", slices + 1, size), many("c3", more + 1, 100)]);
      assert.ok(list !== "keep");
      const counts = list.map(({ endpoints }) => (Array.isArray(endpoints) ? endpoints.length : 0));
      const total = counts.reduce((sum, count) => sum + count, 0);
      const offered = (slices + 1) * size + (more + 1) * 100;
      const isOver = offered > MOST_FAILOVER_ENDPOINTS || slices + more + 2 > MOST_FAILOVER_SLICES;
      assert.ok(total <= MOST_FAILOVER_ENDPOINTS && list.length <= MOST_FAILOVER_SLICES);
      assert.equal(reason, isOver ? "failover-limit" : "failover-prepared");
      assert.deepEqual(clusters, ["c2", "c3"]);
      if (!isOver) assert.equal(total, offered);
      const names = list.map(({ metadata }) => metadata.name);
      assert.equal(new Set(names).size, names.length);
    }),
    { numRuns: 50 },
  );
});
