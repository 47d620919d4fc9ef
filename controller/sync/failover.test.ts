import assert from "node:assert/strict";
import { test } from "node:test";
import { at, type Fields } from "../../test/doubles/memory/fields.ts";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { debugView } from "../observe/debug.ts";

const KEY = "shop/web";
const ASK = "clusterset-proxy.io/cluster-ip-failover";
const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
const MANAGER = "cluster-ip-failover.clusterset-proxy.io";

/** What an owner writes on the Service, or on another object. */
function ask({ server }: MemoryCluster, value: string, kind = "services", key = KEY): void {
  const [namespace, name] = key.includes("/") ? key.split("/") : [undefined, key];
  const metadata = { ...(namespace && { namespace }), name, annotations: { [ASK]: value } };
  server.objects.apply(kind, key, { metadata }, "owner");
}

function slicesOf({ server }: MemoryCluster): Fields[] {
  return server.objects
    .list("endpointslices")
    .filter((slice) => at(slice, ["metadata", "labels", MANAGED_BY]) === MANAGER);
}

/** Cluster and address of each endpoint that the Service fails over to. */
function failover(cluster: MemoryCluster): string[] {
  return slicesOf(cluster)
    .flatMap((slice) => {
      const from = at(slice, ["metadata", "labels", "multicluster.kubernetes.io/source-cluster"]);
      const endpoints = Array.isArray(slice.endpoints) ? slice.endpoints : [];
      return endpoints.map((endpoint) => `${String(from)} ${String(at(endpoint, ["addresses"]))}`);
    })
    .sort();
}

function eventsOf({ server }: MemoryCluster): string[] {
  return server.objects
    .list("events")
    .filter((event) => at(event, ["involvedObject", "kind"]) === "Service")
    .map(({ type, reason, message }) => `${String(type)} ${String(reason)}: ${String(message)}`);
}

function reasonOf({ controller }: MemoryCluster): string | undefined {
  const view = controller && debugView(controller, () => ({}));
  return view?.failover?.find(({ service }) => service === KEY)?.because;
}

/** Three clusters, c1 and c2 in one region, that all serve and export the Service; c1 asks for failover. */
async function open(...flags: readonly string[]) {
  const world = new ControllerWorld(["c1", "c2", "c3"]);
  const [c1, c2, c3] = world.clusters;
  assert.ok(c1 && c2 && c3);
  for (const [i, cluster] of world.clusters.entries()) {
    cluster.flags = ["--region", i === 2 ? "us" : "eu"];
    cluster.namespace("shop");
    cluster.serve(KEY, [`10.${i + 1}.0.7`]);
    cluster.export(KEY);
  }
  c1.flags = ["--region", "eu", ...flags];
  ask(c1, "true");
  world.start();
  await world.pass(20_000);
  return { world, c1, c2, c3 };
}

test("a Service that asks has the nearest other cluster's ready endpoints as terminating ones, in a slice that it owns", async () => {
  const { world, c1, c2, c3 } = await open();
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
  assert.deepEqual(eventsOf(c1), [
    "Normal FailoverPrepared: While no local endpoint is ready, the ClusterIP leads to endpoints of: c2.",
  ]);
  assert.match(await c1.metrics.text(), /failover_services{reason="failover-prepared"} 1/);
  await world.stop();
});

/** Admission of c1 that answers creations of slices in shop, if there are so many. */
function admission({ server }: MemoryCluster, status: number, message: string, most = 0): void {
  server.admit = ({ kind, key }) => {
    if (kind !== "endpointslices" || !key.startsWith("shop/")) return;
    const there = server.objects
      .list(kind)
      .filter((one) => at(one, ["metadata", "namespace"]) === "shop");
    if (there.length >= most) throw new Refusal(status, message, { name: key.slice(5) });
  };
}

test("the slices follow the tiers: the next one without ready endpoints or at a silence of the nearest, and back; Events name the clusters", async () => {
  const { world, c1, c2, c3 } = await open();
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c2.serve(KEY, ["10.2.0.7", "10.2.0.8"], ["10.2.0.7"]);
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.8"], "only ready ones");
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  c2.serve(KEY, ["10.2.0.7"]);
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c2.server.down = true;
  c2.server.cut();
  await world.pass(60_000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  c3.server.down = true;
  c3.server.cut();
  await world.pass(60_000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"], "the last resort is the nearest again");
  for (const { server } of [c2, c3]) server.down = false;
  await world.pass(60_000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  const targets = eventsOf(c1).map((event) => /endpoints of: (.*)\.$/.exec(event)?.[1]);
  assert.deepEqual(new Set(targets), new Set(["c2", "c3"]));
  await world.stop();
});

test("cluster selectors choose the tier, and a wall is never crossed", async () => {
  const { world, c1 } = await open();
  const write = (annotations: Record<string, string>) =>
    c1.server.objects.apply(
      "serviceimports",
      KEY,
      { metadata: { namespace: "shop", name: "web", annotations } },
      "owner",
    );
  const prefer = (cluster: string) => ({
    "clusterset-proxy.io/cluster-selectors": JSON.stringify([
      { propertySelector: { matchProperties: { "cluster.clusterset.k8s.io": cluster } } },
    ]),
  });
  write(prefer("c3"));
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  const wall = { "clusterset-proxy.io/unselected-clusters": "never" };
  write({ ...prefer("c1"), ...wall });
  await world.pass(3000);
  assert.deepEqual(failover(c1), []);
  assert.equal(reasonOf(c1), "no-remote-endpoint");
  write({ "clusterset-proxy.io/cluster-selectors": "nonsense", ...wall });
  await world.pass(3000);
  assert.deepEqual(failover(c1), [], "an invalid list behind a wall selects no cluster");
  write({ "clusterset-proxy.io/cluster-selectors": "nonsense" });
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"], "an invalid list is ignored");
  await world.stop();
});

test("the Namespace asks for all its Services, and a Service can say no; slices go with the request, the export or the import", async () => {
  const { world, c1, c2, c3 } = await open();
  ask(c1, "false");
  await world.pass(3000);
  assert.deepEqual(failover(c1), []);
  ask(c1, "true", "namespaces", "shop");
  await world.pass(3000);
  assert.deepEqual(failover(c1), [], "the Service's answer comes first");
  c1.server.objects.apply(
    "services",
    KEY,
    { metadata: { namespace: "shop", name: "web" } },
    "owner",
  );
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c2.delete("ServiceExport", KEY);
  await world.pass(5000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  c3.delete("ServiceExport", KEY);
  await world.pass(5000);
  assert.deepEqual(failover(c1), []);
  assert.equal(reasonOf(c1), "not-exported-elsewhere");
  assert.match(
    eventsOf(c1).at(-1) ?? "",
    /^Warning FailoverNotPrepared: .*\(not-exported-elsewhere\)/,
  );
  ask(c1, "perhaps", "namespaces", "shop");
  c2.export(KEY);
  await world.pass(5000);
  assert.deepEqual(failover(c1), []);
  assert.match(await c1.metrics.text(), /refused_parts{from="own",reason="invalid-policy"} 1/);
  await world.stop();
});

test("an operator forbids it with a flag, which also removes what is there", async () => {
  const { world, c1 } = await open();
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  await c1.stop();
  c1.flags = ["--cluster-ip-failover", "never"];
  c1.start();
  await world.pass(20_000);
  assert.deepEqual(failover(c1), []);
  assert.equal(reasonOf(c1), "failover-forbidden");
  await world.stop();
});

test("the cluster never exports its failover slices as its own endpoints, and they are no local readiness", async () => {
  const { world, c1, c2 } = await open();
  c1.serve(KEY, []);
  await world.pass(5000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  const of = (cluster: MemoryCluster) => cluster.imported()[KEY];
  assert.equal(of(c1), "vip 10.2.0.7 10.3.0.7");
  assert.equal(of(c2), "vip 10.2.0.7 10.3.0.7");
  const problems = await c1.metrics.text();
  assert.doesNotMatch(problems, /foreign-cluster/);
  // A release that does not know these slices tells them by their source cluster.
  for (const slice of slicesOf(c1)) {
    const key = `shop/${String(at(slice, ["metadata", "name"]))}`;
    const labels = { ...(at(slice, ["metadata", "labels"]) as Fields), [MANAGED_BY]: "other" };
    c1.server.objects.apply(
      "endpointslices",
      key,
      { ...slice, metadata: { namespace: "shop", name: key.slice(5), labels } },
      "other",
    );
  }
  await world.pass(5000);
  assert.equal(of(c2), "vip 10.2.0.7 10.3.0.7");
  await world.stop();
});

test("a full quota of EndpointSlices does not stop a change of the target: an old slice makes room", async () => {
  const { world, c1, c2 } = await open();
  const inShop = c1.server.objects
    .list("endpointslices")
    .filter((one) => at(one, ["metadata", "namespace"]) === "shop");
  admission(c1, 403, 'endpointslices "web" is forbidden: exceeded quota: slices', inShop.length);
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await world.pass(10_000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  assert.equal(reasonOf(c1), "failover-prepared");
  await world.stop();
});

test("admission that refuses new slices does not keep those of dead endpoints, and the reason is reported", async () => {
  const { world, c1, c2 } = await open();
  admission(c1, 403, 'endpointslices "web" is forbidden: ValidatingAdmissionPolicy denies it');
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await world.pass(10_000);
  assert.deepEqual(failover(c1), []);
  assert.equal(reasonOf(c1), "slice-refused");
  assert.match(eventsOf(c1).at(-1) ?? "", /^Warning FailoverNotPrepared: .*\(slice-refused\)/);
  assert.match(await c1.metrics.text(), /failover_services{reason="slice-refused"} 1/);
  c1.server.admit = () => {};
  await world.pass(120_000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  assert.equal(reasonOf(c1), "failover-prepared");
  await world.stop();
});

test("an error that may pass keeps the present slices until new ones are written", async () => {
  const { world, c1, c2 } = await open();
  admission(c1, 500, "etcdserver: request timed out");
  c2.serve(KEY, ["10.2.0.7"], ["10.2.0.7"]);
  await world.pass(10_000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c1.server.admit = () => {};
  await world.pass(120_000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  await world.stop();
});

test("an address that the Service's own slices begin to list leaves its failover slices", async () => {
  const { world, c1, c2 } = await open();
  c2.serve(KEY, ["10.2.0.7", "10.1.0.8"]);
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.1.0.8", "c2 10.2.0.7"]);
  c1.serve(KEY, ["10.1.0.7", "10.1.0.8"]);
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  await world.stop();
});

test("a replica that is not the leader reports no results, and its next term none of Services that are gone", async () => {
  const { world, c1 } = await open();
  c1.start();
  await world.pass(5000);
  const [first, second] = [c1.controller, c1];
  assert.ok(first !== undefined);
  await c1.stop();
  assert.equal(debugView(first, () => ({})).failover, undefined);
  await world.pass(60_000);
  assert.equal(reasonOf(second), "failover-prepared");
  await world.stop();
});

test("a slice that is edited or deleted is put back, and one of another program with its name is left alone", async () => {
  const { world, c1 } = await open();
  const [slice] = slicesOf(c1);
  const name = String(at(slice, ["metadata", "name"]));
  const key = `shop/${name}`;
  const edit = (fields: Fields, metadata: Fields = {}) =>
    c1.server.objects.apply(
      "endpointslices",
      key,
      { ...fields, metadata: { namespace: "shop", name, ...metadata } },
      "editor",
    );
  edit({ endpoints: [{ addresses: ["10.9.9.9"], conditions: { ready: true } }] });
  await world.pass(3000);
  assert.deepEqual(slicesOf(c1)[0]?.endpoints, slice?.endpoints);
  c1.delete("EndpointSlice", key);
  await world.pass(3000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  await c1.stop();
  c1.delete("EndpointSlice", key);
  edit(
    { addressType: "IPv4", endpoints: [], ports: [] },
    { labels: { [MANAGED_BY]: "another", "kubernetes.io/service-name": "web" } },
  );
  c1.start();
  await world.pass(20_000);
  assert.equal(
    at(c1.server.objects.get("endpointslices", key), ["metadata", "labels", MANAGED_BY]),
    "another",
  );
  assert.deepEqual(at(c1.server.objects.get("endpointslices", key), ["endpoints"]), []);
  assert.equal(reasonOf(c1), "slice-foreign");
  await world.stop();
});

test("slices stay while the controller is down, and a start without the other clusters changes nothing until they are heard or stale", async () => {
  const { world, c1, c2, c3 } = await open();
  await c1.stop();
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  c2.server.down = true;
  c2.server.cut();
  c3.server.down = true;
  c3.server.cut();
  const writes = c1.server.writes.length;
  c1.start();
  await world.pass(20_000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  assert.equal(reasonOf(c1), "not-heard");
  await world.pass(90_000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"], "stale, and nothing better is known");
  c3.server.down = false;
  await world.pass(90_000);
  assert.deepEqual(failover(c1), ["c3 10.3.0.7"]);
  c2.server.down = false;
  await world.pass(90_000);
  assert.deepEqual(failover(c1), ["c2 10.2.0.7"]);
  const touched = c1.server.writes.slice(writes).filter(({ key }) => key.includes(".failover."));
  assert.equal(touched.length, 4, "two slices written, two deleted");
  await world.stop();
});

test("a restart in a steady state writes nothing and creates no Event", async () => {
  const { world, c1 } = await open();
  const [before, events] = [c1.server.writes.length, eventsOf(c1)];
  await c1.stop();
  c1.start();
  await world.pass(20_000);
  const touched = c1.writesAfter(before).filter(({ key }) => key.includes("web.c2"));
  assert.deepEqual(touched, []);
  assert.deepEqual(eventsOf(c1), events);
  await world.stop();
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
  const reasons = eventsOf(c1).map((event) => /\(([a-z-]+)\)/.exec(event)?.[1]);
  for (const reason of ["service-headless", "service-external-name", "endpoint-cidrs-open"]) {
    assert.ok(reasons.includes(reason), `${reason}: ${reasons.join()}`);
  }
  await world.stop();
});
