import assert from "node:assert/strict";
import { test } from "node:test";
import { cidr, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { WatchedEndpoints } from "./watched-endpoints.ts";

const C2 = sliceFact({ key: "demo/c2", cluster: "c2", endpoints: ["10.2.0.1", "10.2.0.2"] });

function watched(
  slices: readonly SliceFact[] = [C2],
  fact: ImportFact = importFact(),
  node: Partial<NodeFact> = {},
): WatchedEndpoints {
  const facts = {
    imports: new Map([[fact.key, fact]]),
    slices: new Map(slices.map((slice) => [slice.key, slice])),
    node: nodeFact(node),
  };
  let turn = 0;
  return new WatchedEndpoints(facts, () => (turn++ % 10) / 10);
}

const all = (of: WatchedEndpoints, cluster = "c2") =>
  of
    .sample(cluster, 10, new Set())
    .map(({ address, port }) => `${address}:${port}`)
    .sort();

test("endpoints of other clusters are watched, with the port that the slice gives", () => {
  assert.deepEqual(all(watched()), ["10.2.0.1:8080", "10.2.0.2:8080"]);
  assert.deepEqual(watched().others("", 9, new Set()), ["c2"]);
  assert.deepEqual(watched().sample("c2", 2, new Set(["10.2.0.1"])), [
    { address: "10.2.0.2", port: 8080 },
  ]);
});

test("what a plan does not use, or health leaves alone, is not watched", () => {
  const udp = [{ name: "dns", protocol: "UDP", port: 53 }] as const;
  const none: readonly WatchedEndpoints[] = [
    watched([sliceFact({ key: "demo/c1", cluster: "c1" })]),
    watched([sliceFact()]),
    watched([{ ...C2, active: false }]),
    watched([{ ...C2, ports: udp }]),
    watched([C2], importFact({ headless: true })),
    watched([C2], importFact({ health: "off" })),
    watched([C2], importFact(), { health: "off" }),
    watched([C2], importFact({ key: "demo/other" })),
  ];
  for (const one of none) assert.equal(one.any, false);
  assert.equal(watched([C2], importFact({ health: "remote" }), { health: "off" }).any, true);
  assert.equal(watched([sliceFact()], importFact(), { health: "all" }).any, true);
});

test("a cluster cannot have a node connect to addresses outside its declared ranges", () => {
  const node = { endpointRanges: new Map([["c2", [cidr("10.2.0.2/32")]]]) };
  assert.deepEqual(all(watched([C2], importFact(), node)), ["10.2.0.2:8080"]);
});

test("endpoints that are not ready are no sample", () => {
  const slice = sliceFact({
    key: "demo/c2",
    cluster: "c2",
    endpoints: ["10.2.0.1", { address: "10.2.0.2", condition: "not-ready" }],
  });
  assert.deepEqual(all(watched([slice])), ["10.2.0.1:8080"]);
});

test("clusters of an endpoint are found by address and port: all that list it", () => {
  const one = { address: "10.2.0.1", port: 8080 };
  const others = [
    { address: "10.2.0.1", port: 80 },
    { address: "10.9.0.1", port: 8080 },
  ];
  const thief = sliceFact({ key: "demo/c3", cluster: "c3", endpoints: ["10.2.0.1"] });
  const found = watched([thief, C2, { ...C2, key: "demo/twice" }]).byCluster([one, ...others]);
  assert.deepEqual(
    [...found].map(([cluster, all]) => [cluster, ...all.keys()]),
    [
      ["c3", one],
      ["c2", one],
    ],
  );
});

test("endpoints of a family that the node does not have are not watched", () => {
  const six = sliceFact({
    ...{ key: "demo/six", cluster: "c2", family: "IPv6", endpoints: ["fd00:2::1"] },
  });
  assert.equal(watched([six]).any, true);
  assert.equal(watched([six], importFact(), { clusterSetCidrs: [cidr("241.0.0.0/8")] }).any, false);
});

test("other clusters are of as many namespaces as there are, and silent ones only if all are", () => {
  const many = Array.from({ length: 50 }, (_, i) =>
    sliceFact({ key: `demo/m${i}`, cluster: `m${i}`, endpoints: ["10.7.0.1"] }),
  );
  const key = "shop/web" as const;
  const shop = { key: "shop/c3", importKey: key, cluster: "c3", endpoints: ["10.3.0.1"] } as const;
  const facts = {
    imports: new Map(
      [importFact(), importFact({ key, vips: ["241.0.0.9"] })].map((one) => [one.key, one]),
    ),
    slices: new Map([...many, sliceFact(shop)].map((one) => [one.key, one])),
    node: nodeFact(),
  };
  const all = new WatchedEndpoints(facts, () => 0.5);
  assert.ok(all.others("c2", 2, new Set()).includes("c3"));
  assert.deepEqual(all.others("c2", 2, new Set(many.map(({ cluster = "" }) => cluster))), ["c3"]);
  assert.deepEqual(watched().others("", 2, new Set(["c2"])), ["c2"]);
});

test("what may be this cluster, or is invented, does not show that the uplink works", () => {
  const others = (slice: Partial<SliceFact>, node: Partial<NodeFact> = {}) => {
    const all = [C2, sliceFact({ key: "demo/x", ...slice, endpoints: ["10.9.0.1"] })];
    return watched(all, importFact({ health: "all" }), node).others("c2", 9, new Set());
  };
  assert.deepEqual(others({ cluster: "c1" }), []);
  assert.deepEqual(others({}), []);
  assert.deepEqual(others({ cluster: "c9" }), ["c9"]);
  const ranges = (cluster: string) => ({
    endpointRanges: new Map([[cluster, [cidr("10.0.0.0/8")]]]),
  });
  assert.deepEqual(others({ cluster: "c9" }, ranges("c2")), []);
  assert.deepEqual(others({ cluster: "c9" }, ranges("c9")), ["c9"]);
});

test("a cluster has an owner if slices of one namespace name it alone", () => {
  assert.equal(watched().ownerOf("c2"), "demo");
  assert.equal(watched().ownerOf("c9"), "");
});
