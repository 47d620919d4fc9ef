import assert from "node:assert/strict";
import { test } from "node:test";
import { at, type Fields } from "../../test/doubles/memory/fields.ts";
import { keyOf } from "../../test/stages/cluster-manifests.ts";
import type { MemoryCluster } from "../../test/stages/controller-world.ts";
import {
  ask,
  failover,
  KEY,
  MANAGED_BY,
  MANAGER,
  open,
  reasonOf,
  SOURCE,
  slicesOf,
} from "../../test/stages/failover-world.ts";

test("a Service that asks has the nearest other cluster's ready endpoints as terminating ones, in a slice that it owns", async () => {
  const { c1, c2, c3 } = await open();
  const service = c1.server.objects.get("services", KEY);
  const [slice, ...more] = slicesOf(c1);
  assert.deepEqual(more, []);
  const { name, labels, ownerReferences } = at(slice, ["metadata"]) as Fields;
  assert.match(String(name), /^web\.c2\.failover\.[0-9a-f]{16}$/);
  assert.deepEqual(labels, {
    "kubernetes.io/service-name": "web",
    "multicluster.kubernetes.io/source-cluster": "c2",
    [MANAGED_BY]: MANAGER,
  });
  const uid = at(service, ["metadata", "uid"]);
  assert.deepEqual(ownerReferences, [{ apiVersion: "v1", kind: "Service", name: "web", uid }]);
  assert.deepEqual(slice?.endpoints, [
    { addresses: ["10.2.0.7"], conditions: { ready: false, serving: true, terminating: true } },
  ]);
  assert.deepEqual(slice?.ports, [{ name: "http", protocol: "TCP", port: 80 }]);
  assert.deepEqual([failover(c2), failover(c3)], [[], []], "who does not ask has none");
  assert.equal(reasonOf(c1), "failover-prepared");
  assert.deepEqual(c1.events("Service"), [
    "Normal FailoverPrepared: While no local endpoint is ready, the ClusterIP leads to endpoints of: c2.",
  ]);
  assert.match(await c1.metrics.text(), /failover_services{reason="failover-prepared"} 1/);
});

test("the slices follow the tiers: the next one without ready endpoints or at a drain or silence of the nearest, and back; Events name the clusters", async () => {
  const { world, c1, c2, c3, leadsTo } = await open();
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c2.serve(KEY, ["10.2.0.7", "10.2.0.8"], ["10.2.0.7"]);
  await leadsTo(3000, ["c2 10.2.0.8"], "only ready ones");
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await leadsTo(3000, ["c3 10.3.0.7"]);
  c2.serve(KEY, ["10.2.0.7"]);
  await leadsTo(3000, ["c2 10.2.0.7"]);
  for (const [annotations, target] of [
    [world.drain(10), "c3 10.3.0.7"],
    [{}, "c2 10.2.0.7"],
  ] as const) {
    c2.annotate(annotations);
    await leadsTo(60_000, [target]);
  }
  c2.server.fail();
  await leadsTo(60_000, ["c3 10.3.0.7"]);
  c3.server.fail();
  await leadsTo(60_000, ["c2 10.2.0.7"], "the last resort is the nearest again");
  for (const { server } of [c2, c3]) server.down = false;
  await leadsTo(60_000, ["c2 10.2.0.7"]);
  const targets = c1.events("Service").map((event) => /endpoints of: (.*)\.$/.exec(event)?.[1]);
  assert.deepEqual(new Set(targets), new Set(["c2", "c3"]));
});

test("a region that the operator declares for a cluster counts, not the one that it publishes", async () => {
  const { world, c1, c3 } = await open("--cluster-regions", "c2=eu,c3=us");
  c3.flags = ["--region", "eu"];
  await c3.restart();
  await world.pass(60_000);
  const regions = c1.server.objects
    .list("endpointslices")
    .filter((slice) => at(slice, ["metadata", "labels", SOURCE]) === "c3")
    .map((slice) => at(slice, ["metadata", "labels", "topology.kubernetes.io/region"]));
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  assert.deepEqual(regions, ["us"], "of the imported slice");
});

test("a peer that renews its Lease, but whose slices cannot be listed, holds up only its own", async () => {
  const { world, c1, c2, c3, leadsTo } = await open("--cluster-regions", "c3=eu");
  assert.deepEqual(failover(c1), ["c2 10.2.0.7", "c3 10.3.0.7"]);
  await c1.stop();
  c2.server.unserved.add("endpointslices");
  c2.server.cut();
  c1.start();
  await world.pass(60_000);
  assert.equal(reasonOf(c1), "not-heard");
  c3.serve(KEY, ["10.3.0.99"]);
  await leadsTo(5000, ["c2 10.2.0.7", "c3 10.3.0.99"]);
  c2.server.unserved.clear();
  await world.pass(120_000);
  assert.equal(reasonOf(c1), "failover-prepared");
});

test("cluster selectors choose the tier, and a wall is never crossed", async () => {
  const { c1, leadsTo } = await open();
  const write = (annotations: Record<string, string>) =>
    c1.edit("serviceimports", KEY, { metadata: { annotations } });
  const prefer = (cluster: string) => ({
    "clusterset-proxy.io/cluster-selectors": JSON.stringify([
      { propertySelector: { matchProperties: { "cluster.clusterset.k8s.io": cluster } } },
    ]),
  });
  write(prefer("c3"));
  await leadsTo(3000, ["c3 10.3.0.7"]);
  const wall = { "clusterset-proxy.io/unselected-clusters": "never" };
  write({ ...prefer("c1"), ...wall });
  await leadsTo(3000, []);
  assert.equal(reasonOf(c1), "no-remote-endpoint");
  write({ "clusterset-proxy.io/cluster-selectors": "nonsense", ...wall });
  await leadsTo(3000, [], "an invalid list behind a wall selects no cluster");
  write({ "clusterset-proxy.io/cluster-selectors": "nonsense" });
  await leadsTo(3000, ["c2 10.2.0.7"], "an invalid list is ignored");
});

test("the Namespace asks for all its Services, and a Service can say no; slices go with the request, the export or the import", async () => {
  const { c1, c2, c3, leadsTo } = await open();
  ask(c1, "false");
  await leadsTo(3000, []);
  ask(c1, "true", "namespaces", "shop");
  await leadsTo(3000, [], "the Service's answer comes first");
  c1.edit("services", KEY, {});
  await leadsTo(3000, ["c2 10.2.0.7"]);
  c2.delete("ServiceExport", KEY);
  await leadsTo(5000, ["c3 10.3.0.7"]);
  c3.delete("ServiceExport", KEY);
  await leadsTo(5000, []);
  assert.equal(reasonOf(c1), "not-exported-elsewhere");
  assert.match(
    c1.events("Service").at(-1) ?? "",
    /^Warning FailoverNotPrepared: .*\(not-exported-elsewhere\)/,
  );
  ask(c1, "perhaps", "namespaces", "shop");
  c2.export(KEY);
  await leadsTo(5000, []);
  assert.match(await c1.metrics.text(), /refused_parts{from="own",reason="invalid-policy"} 1/);
});

test("an operator forbids it with a flag, which also removes what is there", async () => {
  const { c1, leadsTo } = await open();
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c1.flags = ["--cluster-ip-failover", "never"];
  await c1.restart();
  await leadsTo(20_000, []);
  assert.equal(reasonOf(c1), "failover-forbidden");
});

test("the cluster never exports its failover slices as its own endpoints, and they are no local readiness", async () => {
  const { world, c1, c2, leadsTo } = await open();
  c1.serve(KEY, []);
  await leadsTo(5000, ["c2 10.2.0.7"]);
  const of = (cluster: MemoryCluster) => cluster.imported()[KEY];
  assert.equal(of(c1), "vip 10.2.0.7 10.3.0.7");
  assert.equal(of(c2), "vip 10.2.0.7 10.3.0.7");
  const metrics = await c1.metrics.text();
  assert.doesNotMatch(metrics, /foreign-cluster/);
  assert.match(metrics, /exported_imports\{nearest="regional",exported_here="true"\} 1/);
  // A slice that another program took over is told by its source cluster.
  for (const slice of slicesOf(c1)) {
    const labels = { ...(at(slice, ["metadata", "labels"]) as Fields), [MANAGED_BY]: "other" };
    c1.edit("endpointslices", keyOf(slice), { ...slice, metadata: { labels } });
  }
  await world.pass(5000);
  assert.equal(of(c2), "vip 10.2.0.7 10.3.0.7");
});

test("a headless Service, one of type ExternalName, and an exporter with open ranges have no failover, with the reason in an Event", async () => {
  const { world, c1, c2, c3 } = await open();
  const spec = (fields: Fields) =>
    c1.apply({ kind: "Service", metadata: { namespace: "shop", name: "web" }, spec: fields });
  spec({
    type: "ClusterIP",
    clusterIP: "None",
    ipFamilies: ["IPv4"],
    ports: [{ name: "http", port: 80 }],
  });
  await world.pass(3000);
  assert.deepEqual([failover(c1), reasonOf(c1)], [[], "service-headless"]);
  spec({ type: "ExternalName", externalName: "example.org" });
  await world.pass(3000);
  assert.deepEqual([failover(c1), reasonOf(c1)], [[], "service-external-name"]);
  c1.serve(KEY, []);
  const open_ = { "clusterset-proxy.io/endpoint-cidrs": "0.0.0.0/0,::/0" };
  for (const { id } of [c2, c3]) c1.introduce(id, `to ${id}`, open_);
  await world.pass(60_000);
  assert.deepEqual([failover(c1), reasonOf(c1)], [[], "endpoint-cidrs-open"]);
  const reasons = c1.events("Service").map((event) => /\(([a-z-]+)\)/.exec(event)?.[1]);
  for (const reason of ["service-headless", "service-external-name", "endpoint-cidrs-open"]) {
    assert.ok(reasons.includes(reason), `${reason}: ${reasons.join()}`);
  }
});
