import assert from "node:assert/strict";
import { test } from "node:test";
import { isUsage } from "../../common/config/usage.ts";
import { importObject, sliceObject } from "../../test/generators/objects.ts";
import { type AgentFacts, agentFacts, modelOf, nodeGroups } from "../agents/facts.ts";
import { agentSettings } from "../agents/objects.ts";
import {
  load,
  type NodeGroup,
  type SimulatedPort,
  simulate,
  simulationTable,
} from "./simulation.ts";
import { drained, scaled, without } from "./what-if.ts";

const PORTS = [{ name: "http", port: 80, protocol: "TCP" }];
const node = (name: string, region: string, zone: string) => ({
  metadata: {
    name,
    labels: { "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone },
  },
});
const OBJECTS = {
  imports: [
    importObject("shop/web", ["241.0.0.1"], PORTS),
    importObject("shop/api", ["241.0.0.2"], PORTS),
  ],
  slices: [
    sliceObject("web-1", "shop/web", { cluster: "c1", region: "eu" }, PORTS, [
      "10.1.0.1",
      "10.1.0.2",
    ]),
    sliceObject("web-2", "shop/web", { cluster: "c2", region: "eu" }, PORTS, ["10.2.0.1"]),
    sliceObject("api-1", "shop/api", { cluster: "c1", region: "eu" }, PORTS, ["10.1.0.9"]),
  ],
  properties: [{ metadata: { name: "cluster.clusterset.k8s.io" }, spec: { value: "c1" } }],
  holders: [],
  nodes: [node("n1", "eu", "a"), node("n2", "eu", "a"), node("n3", "eu", "b")],
};

function settled<Value extends object>(value: Value): Exclude<Value, { code: "CSP_USAGE" }> {
  assert.ok(!isUsage(value));
  return value as Exclude<Value, { code: "CSP_USAGE" }>;
}

const { config } = settled(agentSettings([]));
const FACTS = agentFacts(OBJECTS, config);
const GROUPS = settled(nodeGroups(FACTS, config, undefined)) as readonly NodeGroup[];

function simulated(then: AgentFacts | string): SimulatedPort[] {
  assert.ok(typeof then !== "string", JSON.stringify(then));
  const [before, after] = [modelOf(FACTS, config), modelOf(then, config)];
  return [...simulate(before, after, GROUPS, [...FACTS.imports.keys()].sort())];
}

function shown(then: AgentFacts | string): string {
  const ports = simulated(then);
  return String(simulationTable({ context: "c1", ports, groups: GROUPS, all: false }));
}

test("without a cluster, its connections go to the next tier, or are rejected where no other cluster has an endpoint", () => {
  assert.equal(
    shown(without(FACTS, new Set(["c1"]))),
    `c1: 2 of 2 ports differ

IMPORT          FROM   TODAY          THEN
shop/api:http   all    local c1 (1)   rejected (no-endpoint)
shop/web:http   all    local c1 (2)   regional c2 (1)

ANSWERED BY   PORTS TODAY   THEN
c1            2.0           0.0
c2            0.0           1.0
rejected      0.0           1.0
`,
  );
  const severities = simulated(without(FACTS, new Set(["c1"]))).map(({ severity }) => severity);
  assert.deepEqual(new Set(severities), new Set(["fault", "well"]));
});

test("a drained cluster stays the last resort, which is a warning", () => {
  const ports = simulated(drained(FACTS, new Set(["c1"])));
  const api = ports.filter(({ port }) => port === "shop/api:http");
  assert.deepEqual(new Set(api.map(({ severity }) => severity)), new Set(["warning"]));
  assert.equal(api[0]?.after?.reason, "nearest-serving");
});

test("scaling to nothing fails over; more endpoints than the slices list cannot be simulated", () => {
  const web = { importKey: "shop/web", cluster: "c1" } as const;
  assert.match(
    shown(scaled(FACTS, { ...web, ready: 0 })),
    /shop\/web:http {3}all {4}local c1 \(2\) {3}regional c2 \(1\)\n/,
  );
  assert.match(shown(scaled(FACTS, { ...web, ready: 1 })), /local c1 \(2\) {3}local c1 \(1\)\n/);
  assert.equal(
    scaled(FACTS, { ...web, ready: 3 }),
    "shop/web has 2 IPv4 endpoints in cluster c1; 3 cannot be simulated",
  );
  assert.equal(
    scaled(FACTS, { ...web, cluster: "c9", ready: 0 }),
    "shop/web has no slice of cluster c9",
  );
});

test("nodes are grouped by region and zone, and load is weighted by their number", () => {
  assert.deepEqual(
    GROUPS.map(({ name, size }) => [name, size]),
    [
      ["eu/a", 2],
      ["eu/b", 1],
    ],
  );
  const ports = simulated(FACTS);
  assert.deepEqual([...load(ports, GROUPS, "before")], [["c1", 2]]);
  assert.equal(shown(FACTS).split("\n")[0], "c1: 0 of 2 ports differ");
});
