import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../test/doubles/memory/object-table.ts";
import { keyOf } from "../../test/stages/cluster-manifests.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

// A rejected write holds up nothing else: no removal, no status, no other object of the same import.

const KEY = "shop/web";

/** Addresses of a cluster's pods, more than a slice holds. */
function pods(cluster: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.${cluster}.${i >> 7}.${i & 127}`);
}

/** c1 to c3 export shop/web. */
async function three() {
  const { world, c1, c2, c3 } = ControllerWorld.of(["c1", "c2", "c3"]);
  c1.offer(KEY, ["10.1.0.7"]);
  c3.offer(KEY, ["10.3.0.7"]);
  await world.run(5000);
  assert.equal(c2.imported()[KEY], "vip 10.1.0.7 10.3.0.7");
  return { world, c1, c2, c3 };
}

/** A ResourceQuota of EndpointSlices in the namespaces that match. */
function quota({ server }: MemoryCluster, namespaces: RegExp, most: number): void {
  const isIn = (key: string) => namespaces.test(key.slice(0, key.indexOf("/")));
  server.admit = ({ kind, key }) => {
    if (kind !== "endpointslices" || !isIn(key)) return;
    if (server.objects.list(kind).filter((one) => isIn(keyOf(one))).length >= most)
      throw new Refusal(403, `endpointslices "${key}" is forbidden: exceeded quota: slices`);
  };
}

function refuse({ server }: MemoryCluster, kind: string, message: string, status = 403): void {
  const before = status === 403 ? `${kind} "x" is forbidden` : "Internal error occurred";
  server.admit = (creation) => {
    if (creation.kind === kind) throw new Refusal(status, `${before}: ${message}`);
  };
}

const clustersOf = (cluster: MemoryCluster): unknown =>
  cluster.read("serviceimports", KEY, "status", "clusters");

test("a full quota of slices: what a cluster withdrew goes, and makes room for what another one needs", async () => {
  const { world, c1, c2, c3 } = await three();
  quota(c2, /^shop$/, 2);
  c1.serve(KEY, pods(1, 150));
  await world.pass(5000);
  c3.delete("ServiceExport", KEY);
  await c2.importAfter(5000, KEY, ["vip", ...pods(1, 150).sort()].join(" "));
  assert.deepEqual(clustersOf(c2), [{ cluster: "c1" }]);
});

test("a full quota of a registry: endpoints that are gone are withdrawn, whatever else is rejected", async () => {
  const { world, c1, c2 } = await three();
  quota(c1, /registry/, 2);
  c1.serve(KEY, pods(1, 150));
  const ports = [{ name: "http", protocol: "TCP", port: 81 }];
  c1.slice("shop/web-2", ["10.1.9.9"], { ports });
  await world.pass(5000);
  c1.serve(KEY, ["10.1.0.0"]);
  await c2.importAfter(5000, KEY, "vip 10.1.0.0 10.1.9.9 10.3.0.7");
});

for (const [what, status, message, told] of [
  ["policy rejects new slices", 403, "ValidatingAdmissionPolicy 'none' denied request", "refused"],
  ["a webhook for slices does not answer", 500, 'failed calling webhook "x"', "webhook-failed"],
  [
    "writes of slices meet an internal error",
    500,
    "resource quota evaluation timed out",
    "write-failed",
  ],
  [
    "a webhook for slices takes longer than a write",
    504,
    "request did not complete within requested timeout",
    "webhook-failed",
  ],
] as const) {
  test(`${what}: endpoints that are gone go, the last good ones stay, and the status follows`, async () => {
    const { world, c1, c2, c3 } = await three();
    refuse(c2, "endpointslices", message, status);
    c1.serve(KEY, pods(1, 150));
    c3.delete("ServiceExport", KEY);
    await world.pass(10_000);
    const shown = (c2.imported()[KEY] ?? "").split(" ");
    assert.doesNotMatch(shown.join(), /10\.3\./);
    assert.equal(shown.length, 1 + 50, "the slice that exists follows");
    assert.deepEqual(clustersOf(c2), [{ cluster: "c1" }]);
    await c2.readyAfter(80_000, new RegExp(`^False WriteRejected ${told}: .*${message}`));
  });
}

test("a rejection that lasts for a minute is a condition of the import, an Event, and an age, until it ends", async () => {
  const { c1, c2 } = await three();
  refuse(c2, "endpointslices", "ValidatingAdmissionPolicy 'none' denied request");
  c1.serve(KEY, pods(1, 150));
  await c2.readyAfter(30_000, /^True Ready ClusterSetIP /);
  await c2.readyAfter(
    150_000,
    /^False WriteRejected refused: not all of this import can be written: .*ValidatingAdmissionPolicy 'none' denied request/,
  );
  assert.equal(c2.events("ServiceImport", "WriteRejected").length, 1);
  assert.ok((c2.controller?.queue.tasks.failingFor ?? 0) > 120_000);
  c2.server.admit = () => {};
  await c2.readyAfter(7000, /^True Ready ClusterSetIP \S+\.$/);
  assert.equal(c2.controller?.queue.tasks.failingFor, 0);
});

/** A webhook that denies writes of a kind, with this status. */
function deny(
  { server }: MemoryCluster,
  kind: string,
  isDenied: (method: string, subresource: string | undefined) => boolean,
  status = 403,
): void {
  server.admitWrite = ({ kind: theirs, method }, subresource) => {
    if (theirs === kind && isDenied(method, subresource))
      throw new Refusal(status, 'admission webhook "a.b" denied the request: no');
  };
}

test("an import that may not be deleted says so, and names no cluster any more", async () => {
  const { c1, c2, c3 } = await three();
  deny(c2, "serviceimports", (method) => method === "DELETE");
  for (const cluster of [c1, c3]) cluster.delete("ServiceExport", KEY);
  await c2.readyAfter(90_000, /^False WriteRejected refused: .*denied the request: no$/);
  assert.deepEqual(clustersOf(c2), []);
  assert.equal(c2.imported()[KEY], "vip");
  c2.server.admitWrite = () => {};
  await c2.importAfter(7000, KEY, undefined);
});

test("slices that may not be deleted lose their endpoints, in the registry and in the importing namespace", async () => {
  for (const where of [/registry/, /^shop/]) {
    const { world, c1, c2 } = await three();
    for (const { server } of [c1, c2])
      server.admitWrite = ({ kind, key, method }) => {
        if (kind === "endpointslices" && method === "DELETE" && where.test(key))
          throw new Refusal(403, 'admission webhook "a.b" denied the request: no');
      };
    c1.serve(KEY, pods(1, 150));
    await world.pass(5000);
    c1.serve(KEY, ["10.1.0.7"]);
    await world.pass(5000);
    assert.equal(c2.imported()[KEY], "vip 10.1.0.7 10.3.0.7");
    c1.delete("ServiceExport", KEY);
    await world.pass(5000);
    assert.equal(c2.imported()[KEY], "vip 10.3.0.7");
    const count = c2.server.writes.length;
    await world.pass(60_000);
    const writes = c2.writesAfter(count).filter((one) => one.kind === "endpointslices");
    assert.deepEqual(
      writes.filter(({ method }) => method !== "DELETE"),
      [],
    );
  }
});

test("an import that may be deleted at last goes, also while a cluster that has nothing to do with it was never listed", async () => {
  const { world, c1, c2, c3 } = ControllerWorld.of(["c1", "c2", "c3"]);
  c3.server.down = true;
  c1.offer(KEY, ["10.1.0.7"]);
  c1.start();
  c2.start();
  await world.pass(60_000);
  deny(c2, "serviceimports", (method) => method === "DELETE");
  c1.delete("ServiceExport", KEY);
  await c2.readyAfter(90_000, /^False WriteRejected /);
  c2.server.admitWrite = () => {};
  await c2.importAfter(70_000, KEY, undefined);
});

test("a rejected status of an import or export has one Event, once the rejection has lasted", async () => {
  const { world, c1, c2, c3 } = await three();
  deny(c2, "serviceimports", (_, subresource) => subresource === "status");
  deny(c1, "serviceexports", (_, subresource) => subresource === "status");
  c3.delete("ServiceExport", KEY);
  c1.export("shop/new");
  await world.pass(30_000);
  const events = () => [
    ...c2.events("ServiceImport", "WriteRejected"),
    ...c1.events("ServiceExport", "WriteRejected"),
  ];
  assert.deepEqual(events(), []);
  await world.pass(300_000);
  const denied = 'HTTP 403: admission webhook "a.b" denied the request: no';
  assert.deepEqual(events(), [
    `Warning WriteRejected: refused: this import cannot be written: ${denied}`,
    `Warning WriteRejected: refused: the status of this export cannot be written: ${denied}`,
  ]);
});

test("an IPAddress that may not be deleted: an Event of an import that is gone says so, and the condition of one with another VIP", async () => {
  const { world, c1, c2 } = await three();
  c1.offer("shop/gone", ["10.1.0.9"]);
  await world.pass(5000);
  deny(c2, "ipaddresses", (method) => method === "DELETE");
  c1.delete("ServiceExport", "shop/gone");
  c2.ranges = "242.0.0.0/24,241.0.0.0/24";
  await c2.restart();
  await world.pass(50_000);
  c2.ranges = "242.0.0.0/24";
  await c2.restart();
  await world.pass(150_000);
  assert.equal(c2.imported()["shop/gone"], undefined);
  assert.match(c2.ready(), /^False WriteRejected refused: .*denied the request: no$/);
  assert.equal(c2.events("ServiceImport", "WriteRejected").length, 2);
});

test("an import that may not be created has an Event", async () => {
  const { world, c1, c2 } = await three();
  deny(c2, "serviceimports", () => true);
  c1.offer("shop/new", ["10.1.0.9"]);
  await world.pass(90_000);
  assert.equal(c2.events("ServiceImport", "WriteRejected").length, 1);
});

test("the condition of a rejection stays over a restart, and over conflicts with other writers", async () => {
  const { world, c1, c2 } = await three();
  const isPatch = (method: string) => method === "PATCH";
  deny(c2, "endpointslices", isPatch);
  c1.serve(KEY, ["10.1.0.8"]);
  await world.pass(90_000);
  const said = c2.ready();
  assert.match(said, /^False WriteRejected/);
  await c2.restart();
  for (let ms = 0; ms < 80_000; ms += 4_000) {
    await c2.readyAfter(4_000, said);
  }
  c2.server.admitWrite = ({ kind, method }) => {
    if (kind === "endpointslices" && isPatch(method)) throw new Refusal(409, "was modified");
  };
  await c2.readyAfter(10_000, said);
});

test("words that differ in each attempt cause one write a minute", async () => {
  const { world, c1, c2 } = await three();
  let attempts = 0;
  c2.server.admitWrite = ({ kind, method }) => {
    if (kind !== "endpointslices" || method !== "PATCH") return;
    throw new Refusal(++attempts % 2 === 0 ? 422 : 403, 'admission webhook "a" denied the request');
  };
  c1.serve(KEY, ["10.1.0.8"]);
  await world.pass(90_000);
  const written = await c2.writesIn(120_000, "serviceimports");
  assert.ok(attempts > 20 && written.length <= 2, `${written.length} of ${attempts}`);
});

for (const status of [404, 409, 429, 500, 503]) {
  test(`a webhook that denies with ${status} rejects what it denies: no outage, and no conflict`, async () => {
    const { c1, c2, c3 } = await three();
    deny(c2, "endpointslices", (method) => method === "PATCH", status);
    c1.serve(KEY, pods(1, 150));
    c3.delete("ServiceExport", KEY);
    await c2.readyAfter(90_000, /^False WriteRejected refused: .*denied the request: no$/);
    assert.doesNotMatch(c2.imported()[KEY] ?? "", /10\.3\./);
    c2.server.admitWrite = () => {};
    await c2.importAfter(7000, KEY, ["vip", ...pods(1, 150).sort()].join(" "));
  });
}

test("no IPAddress may be created: a new import says so until it may; endpoints of others follow, and VIPs stay", async () => {
  const { c1, c2 } = await three();
  const ips = c2.read("serviceimports", KEY, "spec", "ips");
  const [vip] = ips as string[];
  refuse(c2, "ipaddresses", "User cannot create resource");
  c2.server.objects.delete("ipaddresses", String(vip));
  c1.offer("shop/new", ["10.1.0.9"]);
  c1.serve(KEY, ["10.1.0.8"]);
  await c2.readyAfter(5000, /^False WriteRejected forbidden: .*ipaddresses/, "shop/new");
  assert.doesNotMatch(c2.imported()["shop/new"] ?? "", /^vip/);
  assert.equal(c2.imported()[KEY], "vip 10.1.0.8 10.3.0.7");
  assert.deepEqual(c2.read("serviceimports", KEY, "spec", "ips"), ips);
  c2.server.admit = () => {};
  await c2.importAfter(7000, "shop/new", "vip 10.1.0.9");
  assert.equal(c2.condition("serviceimports", "shop/new").status, "True");
  assert.ok(c2.has("ipaddresses", String(vip)));
});

test("a quota is raised, a right is granted: what waits for it is written within seconds, in all namespaces", async () => {
  const { world, c1, c2 } = await three();
  const names = Array.from({ length: 40 }, (_, i) => `ns-${i}/web`);
  refuse(c2, "serviceimports", "no right");
  for (const key of names) {
    for (const cluster of [c1, c2]) cluster.namespace(key.slice(0, key.indexOf("/")));
    c1.offer(key, ["10.1.0.9"]);
  }
  await c2.importAfter(300_000, "ns-7/web", undefined);
  c2.server.admit = () => {};
  await world.pass(7000);
  for (const key of names) assert.match(c2.imported()[key] ?? "", / 10\.1\.0\.9$/, key);
});

test("a record that must not be deleted: its endpoints are withdrawn all the same", async () => {
  const { world, c1, c2 } = await three();
  const key = "clusterset-registry-c1/web.shop";
  c1.server.denied.set(key, `serviceimports "${key}" is forbidden: no right to delete`);
  c1.delete("ServiceExport", KEY);
  await c2.importAfter(10_000, KEY, "vip 10.3.0.7");
  c1.server.denied.clear();
  await world.pass(10_000);
  assert.deepEqual(clustersOf(c2), [{ cluster: "c3" }]);
});

test("the Lease is rejected, also after a restart: endpoints follow, and the failure has an age", async () => {
  const { world, c1, c2 } = await three();
  c1.server.denied.set("clusterset-registry-c1/cluster", "a webhook is unavailable");
  await c1.restart();
  c1.serve(KEY, ["10.1.0.8"]);
  await world.pass(90_000);
  // Its Lease has expired by now.
  assert.equal(c2.imported()[KEY], "vip 10.1.0.8(serving) 10.3.0.7");
  assert.ok((c1.controller?.oldestChange ?? 0) > 60_000);
  c1.server.denied.clear();
  await c2.importAfter(30_000, KEY, "vip 10.1.0.8 10.3.0.7");
  assert.equal(c1.controller?.oldestChange, 0);
});

test("an export whose record or slices are rejected says why, in its condition and an Event, until they are not", async () => {
  const { world, c1 } = await three();
  let attempts = 0;
  c1.server.admit = ({ kind }) => {
    if (kind !== "endpointslices") return;
    throw new Refusal(403, `endpointslices "x" is forbidden: exceeded quota: now ${++attempts}`);
  };
  const ready = () => c1.ready(KEY, "serviceexports");
  c1.serve(KEY, pods(1, 150));
  await world.pass(30_000);
  assert.match(
    ready(),
    /^False Failed This cluster's registry rejects it, or a part of it: refused: .*exceeded quota: now 1/,
  );
  const { length: more } = await c1.writesIn(120_000, "serviceexports");
  assert.ok(attempts > 20 && more <= 3, `${attempts} attempts, ${more} writes of the condition`);
  assert.equal(c1.events("ServiceExport", "Failed").length, 1);
  c1.server.admit = () => {};
  await world.pass(10_000);
  assert.equal(ready(), "True Ready Published to this cluster's registry.");
});

test("a registry whose Lease cannot be created: exports say so, until it can", async () => {
  const { world, c1, c2 } = ControllerWorld.withHub(["c1", "c2"]);
  c1.offer(KEY, ["10.1.0.7"]);
  world.hub?.denied.set("clusterset-registry-c1/cluster", "no right to write Leases");
  await world.run(10_000);
  assert.match(c1.ready(KEY, "serviceexports"), /^False Failed .*forbidden: .*no right to write/);
  world.hub?.denied.clear();
  await world.pass(10_000);
  assert.equal(c1.condition("serviceexports", KEY).status, "True");
  assert.equal(c2.imported()[KEY], "vip 10.1.0.7");
});

for (const status of [403, 422, 500]) {
  test(`a hub restored from an old backup rejects a cluster's exports (${status}): its imports stay, and it withdraws names of other namespaces`, async () => {
    const { world, c1, c2, hub } = ControllerWorld.withHub(["c1", "c2"]);
    for (const cluster of [c1, c2]) for (const name of ["blue", "red"]) cluster.namespace(name);
    for (const key of ["red/gone", KEY]) c1.offer(key, ["10.1.0.7"]);
    await world.run(15_000);
    const backup = hub.objects.save();
    c1.offer("blue/web", ["10.1.0.8"]);
    await world.pass(30_000);
    hub.fail();
    c1.delete("ServiceExport", "red/gone");
    hub.objects.restore(backup);
    hub.admitWrite = ({ key, method }) => {
      if (method !== "DELETE" && /c1\/web/.test(key)) throw new Refusal(status, "no");
    };
    await world.pass(10_000);
    hub.down = false;
    const all = { [KEY]: "vip 10.1.0.7", "blue/web": "vip 10.1.0.8" };
    await c2.importsAfter(180_000, all);
    await c2.restart();
    await c2.importsAfter(60_000, all);
    hub.admitWrite = () => {};
    c1.serve("blue/web", ["10.1.0.9"]);
    await c2.importsAfter(60_000, { ...all, "blue/web": "vip 10.1.0.9" });
    c1.delete("ServiceExport", "blue/web");
    await c2.importsAfter(10_000, { [KEY]: "vip 10.1.0.7" });
  });
}
