import assert from "node:assert/strict";
import { test } from "node:test";
import { Chance } from "../../test/generators/chance.ts";
import { cidr, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { WatchedEndpoints } from "./watched-endpoints.ts";

const C2 = sliceFact({ key: "demo/c2", cluster: "c2", endpoints: ["10.2.0.1", "10.2.0.2"] });

function watched(
  slices: readonly SliceFact[] = [C2],
  fact: ImportFact = importFact(),
  node: Partial<NodeFact> = {},
  random?: () => number,
): WatchedEndpoints {
  const facts = {
    imports: new Map([fact, importFact({ key: "shop/web" })].map((one) => [one.key, one])),
    slices: new Map(slices.map((slice) => [slice.key, slice])),
    node: nodeFact(node),
  };
  let turn = 0;
  return new WatchedEndpoints(facts, random ?? (() => (turn++ % 10) / 10));
}

const all = (of: WatchedEndpoints, cluster = "c2") =>
  of
    .sample(cluster, 10, new Set())
    .map(({ address, port }) => `${address}:${port}`)
    .sort();

test("endpoints of other clusters are watched, with the port that the slice gives", () => {
  assert.deepEqual(all(watched()), ["10.2.0.1:8080", "10.2.0.2:8080"]);
  assert.deepEqual(watched().neighbours, ["c2"]);
  assert.deepEqual(watched().sample("c2", 2, new Set(["10.2.0.1:8080"])), [
    { address: "10.2.0.2", port: 8080 },
  ]);
});

test("clusters that a namespace invents come in turns with those of another one", () => {
  const invented = ["x1", "x2", "x3"].map((cluster) =>
    sliceFact({ key: `demo/${cluster}`, cluster }),
  );
  const other = sliceFact({ key: "shop/c3", importKey: "shop/web", cluster: "c3" });
  assert.deepEqual(watched([...invented, other]).neighbours, ["x1", "c3", "x2", "x3"]);
});

test("what a plan does not use, or health leaves alone, is not watched", () => {
  const udp = [{ name: "dns", protocol: "UDP", port: 53 }] as const;
  const own = sliceFact({ key: "demo/c1", cluster: "c1" });
  const none: readonly WatchedEndpoints[] = [
    watched([own], importFact(), { health: "remote" }),
    watched([sliceFact()]),
    watched([{ ...C2, active: false }]),
    watched([{ ...C2, ports: udp }]),
    watched([C2], importFact({ headless: true })),
    watched([C2], importFact({ health: "off" })),
    watched([C2], importFact(), { health: "off" }),
    watched([C2], importFact({ key: "demo/other" })),
  ];
  for (const one of none) assert.equal(one.any, false);
  assert.equal(watched([own]).any, true);
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

test("what may be this cluster, or is invented, does not show that the uplink works", () => {
  const others = (slice: Partial<SliceFact>, node: Partial<NodeFact> = {}) => {
    const all = [C2, sliceFact({ key: "demo/x", ...slice, endpoints: ["10.9.0.1"] })];
    const { neighbours } = watched(all, importFact({ health: "all" }), node);
    return neighbours.filter((cluster) => cluster !== "c2");
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

test("this node connects to addresses within the declared ranges of members; anywhere, if none has declared any", () => {
  const one = { address: "10.9.0.1", port: 80 };
  assert.equal(watched().mayProbe("c9", one), true);
  const endpointRanges = new Map([["c2", [cidr("10.2.0.0/16")]]]);
  const declared = watched([C2], importFact(), { endpointRanges, podCidrs: [cidr("10.1.0.0/16")] });
  assert.equal(declared.mayProbe("c2", { address: "10.2.0.1", port: 80 }), true);
  assert.equal(declared.mayProbe("c2", one), false);
  assert.equal(declared.mayProbe("c9", one), false);
  assert.equal(declared.mayProbe("c1", { address: "10.1.0.1", port: 80 }), true);
  assert.equal(declared.mayProbe("c1", one), false);
});

test("a group is the ready endpoints of an import in a cluster, on one port", () => {
  const slices = [
    { ...C2, ports: [...C2.ports, { name: "admin", protocol: "TCP", port: 9090 }] } as const,
    sliceFact({ key: "demo/c3", cluster: "c3", endpoints: ["10.3.0.1"] }),
    sliceFact({
      ...{ key: "demo/more", cluster: "c2" },
      endpoints: ["10.2.0.3", { address: "10.2.0.4", condition: "not-ready" }],
    }),
  ];
  const [group, ...others] = watched(slices).groupsOf([{ address: "10.2.0.1", port: 8080 }]);
  assert.equal(others.length, 0);
  assert.deepEqual(
    [group?.name, group?.namespace, group?.isOwn],
    ["demo/serve c2 IPv4 8080", "demo", false],
  );
  const members = [...(group?.members.keys() ?? [])];
  assert.deepEqual(members, ["10.2.0.1:8080", "10.2.0.2:8080", "10.2.0.3:8080"]);
});

test("of a namespace with too many groups some are evaluated at a time, each sooner or later, and all of others", () => {
  const ports = Array.from({ length: 300 }, (_, i) => ({ name: `p${i}`, port: 80 + i }));
  const tcp = ports.map((one) => ({ ...one, protocol: "TCP" }) as const);
  const endpoints = Array.from({ length: 100 }, (_, i) => `10.2.0.${i}`);
  const many = sliceFact({ key: "demo/c2", cluster: "c2", ports: tcp, endpoints });
  const few = { ...many, key: "shop/c2", importKey: "shop/web", ports: tcp.slice(0, 9) } as const;
  const chance = new Chance(1);
  const all = watched([many, few], importFact(), {}, () => chance.next());
  const seen = new Set<string>();
  for (let i = 0; i < 100; i++) {
    const found = all.groupsOf(ports.map(({ port }) => ({ address: "10.2.0.1", port })));
    const { demo, shop } = Object.groupBy(found, ({ namespace }) => namespace);
    assert.deepEqual([demo?.length, shop?.length], [41, 9]);
    for (const { name } of found) seen.add(name);
  }
  assert.equal(seen.size, 309);
});
