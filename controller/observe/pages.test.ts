import assert from "node:assert/strict";
import { test } from "node:test";
import { VERSION } from "../../common/version.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { ask, open } from "../../test/stages/failover-world.ts";
import { AnswerTimes } from "./answer-times.ts";
import type { FailoverView } from "./debug-view.ts";
import { pages } from "./pages.ts";

/** The answer of a page of a cluster's controller: status and text. */
async function page(cluster: MemoryCluster, path: string): Promise<string> {
  const { controller, metrics } = cluster;
  assert.ok(controller);
  const [pathname, query = ""] = path.split("?");
  const route = pages(controller, metrics, { report: () => undefined }, new AnswerTimes()).find(
    (one) => one.path === pathname,
  );
  assert.ok(route, path);
  const { status, body } = await route.answer({ parts: [], query: new URLSearchParams(query) });
  return `${status} ${typeof body === "string" ? body : [...body].join("")}`;
}

/** The values of a metric, by the labels that a line has. */
async function metric(cluster: MemoryCluster, name: string): Promise<string[]> {
  const lines = (await page(cluster, "/metrics")).split("\n");
  const prefix = `clusterset_controller_${name}`;
  const found = lines.filter((line) => line.startsWith(prefix));
  return found.map((line) => line.slice(prefix.length)).sort();
}

async function twoClusters() {
  const opened = ControllerWorld.of(["c1", "c2"]);
  opened.world.start();
  return opened;
}

test("a replica is ready once its cluster is listed and identified, whatever the state of peers", async () => {
  const { world, c1, c2 } = await twoClusters();
  c2.server.down = true;
  assert.match(await page(c1, "/readyz"), /^503 \[-\]own-cluster failed: not-listed\n/);
  await world.pass(40_000);
  assert.equal(await page(c1, "/readyz"), "200 ok\n");
  const verbose = await page(c1, "/readyz?verbose");
  assert.match(verbose, /^\[\+\]cluster-c1 alive \(renewing\), member$/m);
  assert.match(
    verbose,
    /^\[-\]cluster-c2 stale \(never-renewed\), not-introduced, not listed yet$/m,
  );
  assert.equal(await page(c1, "/livez"), "200 ok\n");
});

test("/debug shows why a replica does not write", async () => {
  const { world, c1 } = await twoClusters();
  const says = async () => {
    const { working, because } = JSON.parse((await page(c1, "/debug")).slice(4));
    return [working, because];
  };
  assert.deepEqual(await says(), [false, "not-listed"]);
  await world.pass(5000);
  assert.deepEqual(await says(), [true, undefined]);
  c1.start();
  await world.pass(5000);
  c1.kill();
  assert.deepEqual(await says(), [false, "standby"], "the page is that of the other replica");
  await world.pass(20_000);
  assert.deepEqual(await says(), [true, undefined]);
});

test("/debug counts Services that ask for failover, and lists the first hundred, or one that is requested", async () => {
  const { world, c1 } = await open();
  const failover = async (query = "") => {
    const view = JSON.parse((await page(c1, `/debug${query}`)).slice(4));
    const listed = view.failover?.map(({ service, because }: FailoverView) => [service, because]);
    return { ...view.failoverServices, listed };
  };
  c1.serve("shop/zoo", ["10.1.0.9"]);
  ask(c1, "true", "services", "shop/zoo");
  await world.pass(5000);
  const [web, zoo] = [
    ["shop/web", "failover-prepared"],
    ["shop/zoo", "not-exported-elsewhere"],
  ];
  const counts = { requested: 2, prepared: 1 };
  assert.deepEqual(await failover(), { ...counts, listed: [zoo, web] });
  assert.deepEqual(await failover("?failover=shop/web"), { ...counts, listed: [web] });
  assert.deepEqual(await failover("?failover=shop/no"), { ...counts, listed: [] });
  for (const key of ["shop/web", "shop/zoo"]) ask(c1, "false", "services", key);
  await world.pass(5000);
  assert.deepEqual(await failover(), { listed: undefined });
});

test("/debug shows the state of each cluster and its reason", async () => {
  const { world, c1 } = await twoClusters();
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.pass(20_000);
  const { clusters, identity, leader } = JSON.parse((await page(c1, "/debug")).slice(4));
  assert.deepEqual(identity, { id: "c1" });
  assert.equal(leader, true);
  const { silentSeconds, ...first } = clusters[0];
  assert.ok(silentSeconds >= 0 && silentSeconds <= 10, "it renews its Lease every ten seconds");
  assert.deepEqual(first, {
    cluster: "c1",
    state: "alive",
    because: "renewing",
    verdict: "member",
    records: "use",
    listed: true,
    assured: true,
    connections: { serviceimports: "watching", endpointslices: "watching", leases: "watching" },
    uid: c1.uid,
    version: VERSION,
    exports: 1,
    slices: 1,
    refused: {},
  });
});

test("parts that cannot be imported are counted and shown until they can be imported or are gone", async () => {
  const { world, c1, c2 } = await twoClusters();
  const gauge = async () =>
    (await metric(c1, "refused_parts{")).filter((line) => !line.endsWith(" 0"));
  const refused = async () => {
    const { clusters } = JSON.parse((await page(c1, "/debug")).slice(4));
    return Object.fromEntries(
      clusters.map((one: { cluster: string; refused: object }) => [one.cluster, one.refused]),
    );
  };
  for (const [cluster, port] of [
    [c1, 80],
    [c2, 8080],
  ] as const) {
    cluster.serve("shop/web", [`10.${cluster.id.slice(1)}.0.7`]);
    const ports = [{ name: "http", protocol: "TCP", port }];
    const spec = { type: "ClusterIP", clusterIP: "10.96.0.9", ipFamilies: ["IPv4"], ports };
    cluster.apply({ kind: "Service", metadata: { namespace: "shop", name: "web" }, spec });
    cluster.export("shop/web");
    await world.pass(5000);
  }
  assert.deepEqual(await refused(), { c1: {}, c2: { "port-not-merged": 1 } });
  assert.deepEqual(await gauge(), ['from="member",reason="port-not-merged"} 1']);
  assert.match(c1.log.join("\n"), /^Rejected$/m);
  c1.delete("ServiceExport", "shop/web");
  await world.pass(5000);
  assert.deepEqual(await refused(), { c1: {}, c2: {} }, "c2 is the only exporter");
  c1.export("shop/web");
  c2.delete("ServiceExport", "shop/web");
  await world.pass(5000);
  c2.export("shop/web");
  await world.pass(5000);
  assert.deepEqual(await refused(), { c1: {}, c2: { "port-not-merged": 1 } });
  c1.delete("Secret", "clusterset-proxy/peer-c2");
  await world.pass(5000);
  assert.deepEqual(await refused(), { c1: {} });
  assert.deepEqual(await gauge(), []);
});

test("a metric shows how many exported services have their nearest ready endpoints here, elsewhere, or nowhere", async () => {
  const { world, c1, c2 } = await twoClusters();
  const present = async (cluster: typeof c1) =>
    (await metric(cluster, "exported_imports{")).filter((line) => !line.endsWith(" 0"));
  c1.offer("shop/web", ["10.1.0.7"]);
  c2.offer("shop/web", ["10.2.0.7"]);
  await world.pass(20_000);
  assert.deepEqual(await present(c1), ['nearest="local",exported_here="true"} 1']);
  c1.serve("shop/web", []);
  await world.pass(5000);
  assert.deepEqual(await present(c1), ['nearest="global",exported_here="true"} 1']);
  assert.deepEqual(await present(c2), ['nearest="local",exported_here="true"} 1']);
  c1.delete("ServiceExport", "shop/web");
  await world.pass(5000);
  assert.deepEqual(await present(c1), ['nearest="global",exported_here="false"} 1']);
  c2.server.fail();
  await world.pass(40_000);
  assert.deepEqual(await present(c1), ['nearest="none",exported_here="false"} 1']);
});

test("metrics count exports and imports, and show the state of clusters", async () => {
  const { world, c1, c2 } = await twoClusters();
  c1.offer("shop/web", ["10.1.0.7"]);
  c1.export("shop/nothing");
  await world.pass(20_000);
  assert.deepEqual(await metric(c1, "exports{"), [
    'status="False",reason="Pending"} 1',
    'status="True",reason="Ready"} 1',
  ]);
  assert.deepEqual(await metric(c1, "exports_invalid{"), ['reason="NoService"} 1']);
  assert.deepEqual(await metric(c2, "imports{"), ['reason="exported"} 1']);
  assert.deepEqual(await metric(c2, "cluster_exports{"), ['member="c1"} 1', 'member="c2"} 0']);
  assert.deepEqual(await metric(c2, "tasks{"), [
    'state="failing"} 0',
    'state="waiting"} 0',
    'state="working"} 0',
  ]);
  c1.server.fail();
  await world.pass(40_000);
  assert.deepEqual(await metric(c2, "cluster_alive{"), ['member="c1"} 0', 'member="c2"} 1']);
  assert.deepEqual(await metric(c2, "cluster_up{"), ['member="c1"} 0', 'member="c2"} 1']);
  assert.deepEqual(await metric(c2, "cluster_turns_total{"), ['member="c1",state="stale"} 1']);
  c2.delete("ServiceImport", "shop/web");
  c2.delete("Secret", "clusterset-proxy/peer-c1");
  await world.pass(20_000);
  assert.deepEqual(await metric(c2, "cluster_alive{"), ['member="c2"} 1']);
  assert.deepEqual(await metric(c2, "imports{"), ['reason="exported"} 0']);
});

test("metrics and /debug show which cluster is drained, by whom, why and until when", async () => {
  const { world, c2 } = await twoClusters();
  await world.pass(5000);
  assert.deepEqual(await metric(c2, "cluster_drained{"), ['member="c1"} 0', 'member="c2"} 0']);
  const drain = "from=2026-06-01T00:00:00Z; for=1h; by=ann; reason=kernel upgrade";
  c2.introduce("c1", "to c1", { "clusterset-proxy.io/drain": drain });
  await world.pass(2000);
  assert.deepEqual(await metric(c2, "cluster_drained{"), ['member="c1"} 1', 'member="c2"} 0']);
  assert.deepEqual(await metric(c2, "cluster_drain_end_timestamp_seconds{"), [
    `member="c1"} ${Date.UTC(2026, 5, 1, 1) / 1000}`,
    'member="c2"} 0',
  ]);
  const { clusters } = JSON.parse((await page(c2, "/debug")).slice(4));
  const { drained, drains } = clusters.find(({ cluster }: { cluster: string }) => cluster === "c1");
  assert.equal(drained, "drained");
  assert.deepEqual(drains, [
    {
      phase: "in-force",
      from: "2026-06-01T00:00:00.000Z",
      until: "2026-06-01T01:00:00.000Z",
      by: "ann",
      reason: "kernel upgrade",
      object: "Secret clusterset-proxy/peer-c1",
    },
  ]);
});
