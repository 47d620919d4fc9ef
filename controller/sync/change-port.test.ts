import assert from "node:assert/strict";
import { test } from "node:test";
import { Model } from "../../agent/model/model.ts";
import { parseImport } from "../../agent/model/parse-import.ts";
import { parseSlice } from "../../agent/model/parse-slice.ts";
import { planImport } from "../../agent/plan/plan.ts";
import { nodeFact } from "../../test/generators/facts.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

// The steps of docs/guides/change-port.md, for exporters c1 (the oldest) and c2, and c3, which imports only.

const KEY = "shop/web";
const PODS = { c1: "10.1.0.7", c2: "10.2.0.7" } as const;
type Exporter = keyof typeof PODS;

/** Ports as words, of a Service whose pods listen on other numbers. */
function serve(cluster: MemoryCluster, ...ports: readonly string[]): void {
  cluster.serveAs(KEY, [PODS[cluster.id as Exporter]], { ports, podPorts: 1000 });
}

/** Where a node of a cluster sends connections to a port of the import, with the target port. */
function backends(cluster: MemoryCluster, port: number): string[] {
  const model = new Model();
  for (const object of cluster.server.objects.list("serviceimports")) {
    const { fact } = parseImport(object);
    if (fact?.key === KEY) model.setImport(fact, 0);
  }
  for (const object of cluster.server.objects.list("endpointslices")) {
    const { fact } = parseSlice(object);
    if (fact !== undefined) model.setSlice(fact, 0);
  }
  const view = model.view(KEY);
  const plan = view && planImport(view, nodeFact({ cluster: cluster.id }));
  const found = plan?.services.find((service) => service.port === port);
  return (found?.endpoints ?? []).map((one) => `${one.address}:${one.port}`).sort();
}

/** Clusters in step that export these ports. */
async function exporting(onHub: boolean, ...words: readonly string[]) {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2", "c3"], undefined, onHub);
  world.start();
  for (const cluster of [c1, c2]) {
    serve(cluster, ...words);
    cluster.export(KEY);
    await world.pass(5000);
  }
  return world;
}

/** What a port leads to in each cluster after each change of an object there, with what it should. */
function watch({ clusters }: ControllerWorld, port: () => number): (readonly [string, string])[] {
  const seen: (readonly [string, string])[] = [];
  for (const cluster of clusters) {
    // Own endpoints in an exporter, both elsewhere.
    const pods = cluster.id in PODS ? [PODS[cluster.id as Exporter]] : Object.values(PODS);
    cluster.server.objects.listen(({ kind }) => {
      if (kind !== "serviceimports" && kind !== "endpointslices") return;
      const expected = pods.map((address) => `${address}:${port() + 1000}`);
      const line = (found: readonly string[]) => `${cluster.id} ${found.join()}`;
      seen.push([line(backends(cluster, port())), line(expected)]);
    });
  }
  return seen;
}

/** What both exporters serve in turn, from the first to the last line; `move`: the line after which clients use the new port. */
const CHANGES: Readonly<Record<string, { lines: readonly string[][]; move: number }>> = {
  "another number": { lines: [["http 80"], ["http 80", "new 8080"], ["new 8080"]], move: 1 },
  "another number beside a port that stays": {
    lines: [
      ["http 80", "admin 9000"],
      ["http 80", "admin 9000", "new 8080"],
      ["admin 9000", "new 8080"],
    ],
    move: 1,
  },
};

for (const [name, { lines, move }] of Object.entries(CHANGES)) {
  for (const onHub of [false, true]) {
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const first = order[0] === 0 ? "oldest" : "youngest";
      test(`${name}, ${onHub ? "on a hub" : "in a mesh"}, the ${first} first: clients lose no endpoint`, async () => {
        const [start = [], ...steps] = lines;
        const world = await exporting(onHub, ...start);
        let port = 80;
        const seen = watch(world, () => port);
        for (const [i, words] of steps.entries()) {
          for (const index of order) {
            const cluster = world.clusters[index];
            serve(cluster, ...words);
            await world.pass(5000);
            const { status } = cluster.condition("serviceexports", KEY);
            assert.equal(status, "True");
          }
          if (i + 1 === move) port = 8080;
        }
        assert.ok(seen.length > 10);
        for (const [found, expected] of seen) assert.equal(found, expected);
        const { reason } = world.clusters[0].condition("serviceexports", KEY, "Conflict");
        assert.equal(reason, "NoConflicts");
        assert.deepEqual(backends(world.clusters[2], 80), []);
      });
    }
  }
}

test("a port that the oldest renames, or names, keeps the endpoints of all clusters once it is imported", async () => {
  for (const [before, after] of [
    ["http 80", "web 80"],
    ["80", "http 80"],
    ["http 80", "80"],
  ] as const) {
    const world = await exporting(false, before);
    serve(world.clusters[0], after);
    await world.pass(5000);
    const [c1, c2, c3] = world.clusters;
    assert.deepEqual(backends(c1, 80), ["10.1.0.7:1080"]);
    assert.deepEqual(backends(c2, 80), ["10.2.0.7:1080"]);
    assert.deepEqual(backends(c3, 80), ["10.1.0.7:1080", "10.2.0.7:1080"]);
    const statuses = [c1, c2].map((one) => one.condition("serviceexports", KEY).status);
    assert.deepEqual(statuses, ["True", "True"]);
  }
});

test("a number that is changed in place loses the endpoints of the youngest until it follows, and it says so", async () => {
  const world = await exporting(false, "http 80");
  const [c1, c2, c3] = world.clusters;
  serve(c1, "http 8080");
  await world.pass(5000);
  assert.deepEqual(backends(c3, 80), []);
  assert.deepEqual(backends(c3, 8080), ["10.1.0.7:9080"]);
  assert.equal(c2.condition("serviceexports", KEY).reason, "EndpointsLeftOut");
  serve(c2, "http 8080");
  await world.pass(5000);
  assert.deepEqual(backends(c3, 8080), ["10.1.0.7:9080", "10.2.0.7:9080"]);
  assert.equal(c2.condition("serviceexports", KEY).reason, "Ready");
});
