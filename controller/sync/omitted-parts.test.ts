import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ControllerWorld,
  type MemoryCluster,
  worldWith,
} from "../../test/stages/controller-world.ts";

/** Status and message of the condition Ready of an object. */
function readyOf(
  cluster: MemoryCluster,
  resource: "serviceexports" | "serviceimports",
  key = "shop/web",
): string {
  const { status, message } = cluster.condition(resource, key);
  return `${status} ${message}`;
}

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
}

test("an import that is over its limit says so in its condition, until it is not", async () => {
  const { world, c1, c2 } = worldWith("--max-rules-per-import", "5");
  c1.offer("shop/web", addresses(9));
  await world.run(20_000);
  assert.match(readyOf(c2, "serviceimports"), /^True ClusterSetIP .* Left out: too-many-rules\.$/);
  assert.doesNotMatch(readyOf(c1, "serviceimports"), /Left out/);
  c1.serve("shop/web", addresses(3));
  await world.pass(20_000);
  assert.match(readyOf(c2, "serviceimports"), /^True ClusterSetIP \S+\.$/);
});

test("an export with endpoints that it does not publish says so in its condition, until it has none", async () => {
  const { world, c1 } = worldWith();
  const foreign = (cluster: string) =>
    c1.apply({
      kind: "EndpointSlice",
      metadata: {
        namespace: "shop",
        name: "web-other",
        labels: {
          "kubernetes.io/service-name": "web",
          "multicluster.kubernetes.io/source-cluster": cluster,
        },
      },
      addressType: "IPv4",
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      endpoints: [{ addresses: ["10.9.0.1"], conditions: { ready: true } }],
    });
  c1.serve("shop/web", addresses(3));
  foreign("c9");
  c1.export("shop/web");
  await world.run(20_000);
  const published = "True Published to this cluster's registry.";
  assert.equal(readyOf(c1, "serviceexports"), `${published} Left out: foreign-cluster.`);
  foreign("c1");
  await world.pass(20_000);
  assert.equal(readyOf(c1, "serviceexports"), published);
});

test("an import says in its condition why endpoints of a peer were rejected, until none is", async () => {
  const { world, c1, c2 } = worldWith();
  const outside = ["203.0.113.5", "203.0.113.6", "169.254.169.254"];
  c1.offer("shop/web", [...addresses(2), ...outside.slice(0, 2)]);
  await world.run(20_000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.0 10.1.0.1" });
  assert.match(
    readyOf(c2, "serviceimports"),
    /^True ClusterSetIP \S+\. Left out: outside-endpoint-cidrs\.$/,
  );
  assert.match(readyOf(c1, "serviceimports"), /^True ClusterSetIP \S+\.$/);
  const since = c2.server.writes.length;
  c1.serve("shop/web", [...addresses(2), ...outside.slice(1, 2)]);
  await world.pass(20_000);
  assert.deepEqual(c2.writesAfter(since), [], "fewer endpoints with the same reason");
  c1.serve("shop/web", addresses(2));
  await world.pass(20_000);
  assert.match(readyOf(c2, "serviceimports"), /^True ClusterSetIP \S+\.$/);
});

for (const onHub of [false, true]) {
  test(`${onHub ? "on a hub" : "in a mesh"}: an export says that other clusters reject endpoints, until they do not, also after a restart`, async () => {
    const world = new ControllerWorld(["c1", "c2"], undefined, onHub);
    const [c1, c2] = world.clusters;
    for (const cluster of world.clusters) cluster.namespace("shop");
    c1.offer("shop/web", ["10.1.0.7", "203.0.113.5", "203.0.113.6"]);
    await world.run(20_000);
    const place = onHub ? "Published to the hub" : "Published to this cluster's registry";
    const by = onHub ? "the hub" : "cluster c2";
    const rejected = (count: number, of: number) =>
      `${count} of ${of} endpoints, such as 203.0.113.5, are outside the endpoint CIDRs that ${by} declares for this cluster: `;
    const ready = () => readyOf(c1, "serviceexports");
    assert.ok(ready().startsWith(`True ${place}. ${rejected(2, 3)}"10.0.0.0/8,`), ready());
    assert.match(ready(), / Left out: outside-endpoint-cidrs\.$/);
    c1.serve("shop/web", ["203.0.113.5"]);
    await world.pass(20_000);
    const none = `False ${place}, but no other cluster uses an endpoint of it. ${rejected(1, 1)}`;
    assert.ok(ready().startsWith(none), ready());
    assert.deepEqual(c1.imported(), { "shop/web": "vip 203.0.113.5" });
    assert.deepEqual(c2.imported(), { "shop/web": "vip" });
    const since = c1.server.writes.length;
    // The first time, c2 cannot be reached.
    for (const unreachable of [["c2"], []]) {
      world.misguided.clear();
      for (const id of unreachable) world.misguided.add(id);
      await c1.restart();
      await world.pass(60_000);
    }
    const written = c1.writesAfter(since).filter(({ kind }) => kind === "serviceexports");
    assert.deepEqual(written, [], "a restart says nothing new");
    c1.serve("shop/web", ["10.1.0.7"]);
    await world.pass(20_000);
    assert.equal(ready(), `True ${place}.`);
    await world.stop();
  });
}

test("an export follows the ranges that are declared for its cluster", async () => {
  const { world, c1, c2 } = worldWith();
  const RANGES = "clusterset-proxy.io/endpoint-cidrs";
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.run(20_000);
  assert.equal(readyOf(c1, "serviceexports"), "True Published to this cluster's registry.");
  c2.introduce("c1", undefined, { [RANGES]: "10.2.0.0/16" });
  await world.pass(20_000);
  assert.match(readyOf(c1, "serviceexports"), /^False .*cluster c2 declares .*"10\.2\.0\.0\/16"/);
  c2.introduce("c1", undefined, { [RANGES]: "10.1.0.0/16" });
  await world.pass(20_000);
  assert.equal(readyOf(c1, "serviceexports"), "True Published to this cluster's registry.");
});

test("an export says in its condition why endpoints of its own cluster were rejected, until none is", async () => {
  const { world, c1 } = worldWith();
  c1.offer("shop/web", [...addresses(2), "169.254.169.254", "241.0.0.7"]);
  await world.run(20_000);
  const published = "True Published to this cluster's registry.";
  assert.equal(
    readyOf(c1, "serviceexports"),
    `${published} Left out: in-clusterset-cidr, link-local-address.`,
  );
  c1.serve("shop/web", [...addresses(2), "169.254.169.254"]);
  await world.pass(20_000);
  assert.equal(readyOf(c1, "serviceexports"), `${published} Left out: link-local-address.`);
  c1.serve("shop/web", addresses(2));
  await world.pass(20_000);
  assert.equal(readyOf(c1, "serviceexports"), published);
});

test("an import says in its condition that slices of a peer are over the limit of its registry, until they are not", async () => {
  const { world, c1, c2 } = worldWith("--max-rules-per-cluster", "5");
  for (const [key, count] of [
    ["shop/web", 3],
    ["shop/api", 4],
  ] as const) {
    c1.offer(key, addresses(count));
    if (key === "shop/web") world.start();
    await world.pass(20_000);
  }
  const messageOf = (name: string) => readyOf(c2, "serviceimports", `shop/${name}`);
  assert.match(messageOf("web"), /^True ClusterSetIP \S+\.$/);
  assert.match(messageOf("api"), /^True ClusterSetIP \S+\. Left out: too-many-rules\.$/);
  c1.serve("shop/web", addresses(1));
  await world.pass(40_000);
  assert.match(messageOf("api"), /^True ClusterSetIP \S+\.$/);
  c1.serve("shop/web", addresses(3));
  await world.pass(40_000);
  // The slice of web is older.
  assert.match(messageOf("web"), /^True ClusterSetIP \S+\.$/);
  assert.match(messageOf("api"), /Left out: too-many-rules\.$/);
  c1.delete("ServiceExport", "shop/web");
  await world.pass(40_000);
  assert.match(messageOf("api"), /^True ClusterSetIP \S+\.$/);
});

test("an export says what of its labels, annotations and ports is not published, until it is", async () => {
  const { world, c1 } = worldWith();
  const published = "True Published to this cluster's registry.";
  const labels = { "app.kubernetes.io/instance": "web", team: "shop" };
  const exported = (spec: Record<string, unknown>) =>
    c1.apply({ kind: "ServiceExport", metadata: { namespace: "shop", name: "web" }, spec });
  c1.serve("shop/web", addresses(1));
  exported({ exportedLabels: labels });
  await world.run(10_000);
  assert.equal(readyOf(c1, "serviceexports"), `${published} Left out: reserved-key.`);
  exported({ exportedAnnotations: { "example.com/notes": "x".repeat(40_000) } });
  await world.pass(5000);
  assert.equal(readyOf(c1, "serviceexports"), `${published} Left out: too-many-keys.`);
  exported({});
  await world.pass(5000);
  assert.equal(readyOf(c1, "serviceexports"), published);
  const ports = Array.from({ length: 150 }, (_, i) => ({
    ...{ name: `p${i}`, protocol: "TCP", port: 1000 + i },
  }));
  const metadata = { namespace: "shop", name: "web" };
  c1.apply({ kind: "Service", metadata, spec: { ipFamilies: ["IPv4"], ports } });
  await world.pass(5000);
  assert.equal(readyOf(c1, "serviceexports"), `${published} Left out: too-many-ports.`);
});
