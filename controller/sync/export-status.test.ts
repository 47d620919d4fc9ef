import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiFault, type FaultReason } from "../../common/kubernetes/api-fault.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { ExportCompleteness } from "./export-completeness.ts";

/** The condition Conflict of the export shop/web. */
const conflictOf = (cluster: MemoryCluster) =>
  cluster.condition("serviceexports", "shop/web", "Conflict").reason;

test("conflicts and their end are reported while a member was never synced", async () => {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2", "c3"]);
  const serve = (port: number) => c2.serve("shop/web", ["10.2.0.7"], [], port);
  c1.serve("shop/web", ["10.1.0.7"]);
  serve(8080);
  for (const cluster of [c1, c2]) cluster.start();
  await world.pass(5000);
  for (const cluster of [c1, c2]) cluster.export("shop/web");
  const told = () => [c1, c2].map(conflictOf);
  for (const [port, reason] of [
    [8080, "PortConflict"],
    [80, "NoConflicts"],
    [8080, "PortConflict"],
  ] as const) {
    serve(port);
    await world.pass(10_000);
    assert.deepEqual(told(), [reason, reason]);
  }
});

for (const onHub of [false, true]) {
  test(`${onHub ? "on a hub" : "in a mesh"}: an export whose endpoints are all left out says so, until they are used, also after a restart`, async () => {
    const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"], undefined, onHub);
    const used = onHub ? "Exported" : "Ready";
    const reasons = () =>
      world.clusters.map((one) => one.condition("serviceexports", "shop/web").reason);
    const serve = (port: number, addresses = ["10.2.0.7"]) =>
      c2.serve("shop/web", addresses, [], port);
    c1.offer("shop/web", ["10.1.0.7"]);
    await world.run(5000);
    c2.offer("shop/web", ["10.2.0.7"]);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, used]);
    serve(8080);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, "EndpointsLeftOut"]);
    assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
    const rewritten = await c2.writesAfterRestart(20_000, "serviceexports");
    assert.deepEqual(rewritten, [], "a restart says nothing new");
    serve(8080, []);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, used], "it has no endpoint");
    serve(8080);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, "EndpointsLeftOut"]);
    // The oldest export follows.
    c1.serve("shop/web", ["10.1.0.7"], [], 8080);
    await world.pass(5000);
    assert.deepEqual(reasons(), [used, used]);
    assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.7 10.2.0.7" });
  });
}

const NAMES = ["shop/api", "shop/cart", "shop/web"];
/** Milliseconds by which answers are later than events. */
const LATE_MS = 50;

test("an export deleted right after its status write is withdrawn, even if the watch reports it before the answer", async () => {
  const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"]);
  for (const cluster of world.clusters) {
    for (const key of NAMES) cluster.offer(key, [cluster === c1 ? "10.1.0.7" : "10.2.0.7"]);
  }
  await world.run(20_000);
  const request = c1.server.request.bind(c1.server);
  c1.server.request = async (asked) => {
    const answer = await request(asked);
    const isStatus = asked.write !== undefined && asked.path.includes("/serviceexports/");
    if (isStatus) await new Promise<void>((resolve) => world.clock.after(LATE_MS, resolve));
    return answer;
  };
  const unlisten = c1.server.objects.listen(({ kind, key, type }) => {
    if (kind === "serviceexports" && type === "MODIFIED") c1.delete("ServiceExport", key);
  });
  for (const key of NAMES) c2.serve(key, ["10.2.0.7"], [], 8080);
  await world.pass(60_000);
  unlisten();
  assert.deepEqual(c1.server.objects.list("serviceexports"), []);
  const theirs = Object.fromEntries(NAMES.map((key) => [key, "vip 10.2.0.7"]));
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), theirs);
});

/**
 * When a registry is complete, step by step: its only export is published, or fails for a reason; seconds pass; its connection is
 * `lost` or `restored`; its record is `there`, though not as it should be. `yes`, `no`, `except`: whether it is complete, except that export.
 */
const COMPLETENESS: Readonly<Record<string, readonly string[]>> = {
  "the registry is complete once every queued name is published": ["no, published, yes"],
  "a failed export delays completeness": ["unreachable, no, throttled, 60, stalled, no"],
  "an export that is rejected, whatever the reason, is an exception if the registry lacks it, until shortly after it is published":
    ["refused", "invalid", "webhook-failed", "forbidden", "write-conflict", "a defect"].map(
      (one) =>
        `unreachable, ${one}, except, ${one}, published, 9, except, 1, yes, ${one}, except, there, ${one}, 10, yes`,
    ),
  "a lost connection ends completeness until all names are published again": [
    "published, due, yes, lost, no, restored, no, published, yes",
  ],
};
const EXCEPT: Readonly<Record<string, readonly string[]>> = { yes: [], except: ["shop/web"] };

for (const [name, histories] of Object.entries(COMPLETENESS)) {
  test(name, async () => {
    for (const history of histories) {
      const registry = { isWatched: true };
      const clock = new FakeClock();
      let [renewals, isLacking] = [0, true];
      const completeness = new ExportCompleteness(registry, clock, () => renewals++);
      completeness.due("shop/web");
      for (const step of history.split(", ")) {
        if (step === "no" || step in EXCEPT) {
          completeness.update();
          assert.deepEqual(completeness.except && [...completeness.except], EXCEPT[step], history);
        } else if (step === "lost" || step === "restored") registry.isWatched = step === "restored";
        else if (step === "there") isLacking = false;
        else if (step === "due") completeness.due("shop/web");
        else if (/^\d+$/.test(step)) clock.advance(Number(step) * 1000);
        else {
          const act = async () => {
            if (step === "a defect") throw new TypeError(step);
            if (step !== "published") throw new ApiFault(step as FaultReason, "no");
          };
          await completeness.publish("shop/web", act, () => isLacking).catch(() => undefined);
        }
      }
      clock.advance(60_000);
      if (completeness.except) assert.ok(renewals > 1 && renewals < 10, "it is repeated");
    }
  });
}

const PUBLISHED = "True Ready Published to this cluster's registry.";

function addresses(count: number, prefix = "10.1.0"): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}.${i + 1}`);
}

const exportOf = (cluster: MemoryCluster, key = "shop/web") => cluster.ready(key, "serviceexports");

test("a cluster over its share of an import is cut, takes nothing from others, and the import says so, until it is not", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags("--max-rules-per-import", "5");
  c1.offer("shop/web", addresses(9));
  c2.offer("shop/web", addresses(2, "10.2.0"));
  await world.run(20_000);
  assert.deepEqual(c2.imported(), {
    "shop/web": "vip 10.1.0.1 10.1.0.2 10.1.0.3 10.2.0.1 10.2.0.2",
  });
  assert.match(c2.ready(), /^True Ready ClusterSetIP .* Left out: too-many-rules\.$/);
  assert.match(await c2.metrics.text(), /refused_parts{from="member",reason="too-many-rules"} 1\n/);
  assert.doesNotMatch(c1.ready(), /Left out/);
  c1.serve("shop/web", addresses(3));
  await c2.readyAfter(20_000, /^True Ready ClusterSetIP \S+\.$/);
  assert.match(await c2.metrics.text(), /refused_parts{from="member",reason="too-many-rules"} 0\n/);
});

test("an import that costs more than agents program by default says so, until it does not", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  const ports = Array.from({ length: 30 }, (_, i) => `p${i} ${80 + i}`);
  const many = Array.from({ length: 840 }, (_, i) => `10.1.${i >> 8}.${i & 255}`);
  c1.serveAs("shop/web", many, { ports });
  c1.export("shop/web");
  await world.run(20_000);
  assert.match(c2.ready(), /^True Ready ClusterSetIP .* Left out: import-limit\.$/);
  c1.serveAs("shop/web", many.slice(0, 800), { ports });
  await c2.readyAfter(20_000, /^True Ready ClusterSetIP \S+\.$/);
});

test("a cluster over the limit of its registry keeps what was admitted first; the import that is left out says so, and comes when there is room", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags("--max-rules-per-cluster", "5");
  c1.offer("shop/web", addresses(3));
  await world.run(20_000);
  c1.offer("shop/api", addresses(4));
  await world.pass(20_000);
  const [all, left] = [/^True Ready ClusterSetIP \S+\.$/, /\S+\. Left out: too-many-rules\.$/];
  const states = () => [c2.ready("shop/web"), c2.ready("shop/api")];
  const check = (web: string, api: string) => {
    assert.deepEqual(c2.imported(), { "shop/web": web, "shop/api": api });
    for (const [i, state] of states().entries()) {
      assert.match(state, [web, api][i] === "vip" ? left : all);
    }
  };
  check("vip 10.1.0.1 10.1.0.2 10.1.0.3", "vip");
  c1.serve("shop/web", addresses(1));
  await world.pass(40_000);
  check("vip 10.1.0.1", "vip 10.1.0.1 10.1.0.2 10.1.0.3 10.1.0.4");
  c1.serve("shop/web", addresses(3));
  await world.pass(40_000);
  check("vip 10.1.0.1 10.1.0.2 10.1.0.3", "vip");
  c1.delete("ServiceExport", "shop/web");
  await c2.readyAfter(40_000, all, "shop/api");
});

test("a tenant whose exports fill the limit of a cluster is cut, and nobody else notices, also after restarts", async () => {
  const limit = ["--max-rules-per-cluster", "10"];
  const { world, c1, c2 } = ControllerWorld.withFlags(...limit);
  c1.flags = limit;
  for (const cluster of world.clusters) cluster.namespace("aaa");
  const all = addresses(40, "10.1.1");
  // Its names come first, and its export is older.
  c1.offer("aaa/greedy", all);
  await world.run(20_000);
  c1.offer("shop/web", addresses(3));
  await world.pass(20_000);
  const web = "vip 10.1.0.1 10.1.0.2 10.1.0.3";
  const check = (when: string) => {
    assert.equal(c2.imported()["shop/web"], web, when);
    assert.equal(c1.imported()["shop/web"], web, when);
    assert.equal(exportOf(c1), PUBLISHED);
    assert.match(c2.ready(), /^True Ready ClusterSetIP \S+\.$/);
    // The own cluster's endpoints need no registry.
    assert.deepEqual(c1.imported()["aaa/greedy"]?.split(" ").length, 1 + all.length, when);
    assert.deepEqual(c2.imported()["aaa/greedy"]?.split(" ").length, 1 + 7, when);
    assert.match(exportOf(c1, "aaa/greedy"), /Left out: too-many-rules\.$/, when);
    assert.match(c2.ready("aaa/greedy"), /Left out: too-many-rules\.$/, when);
  };
  check("at first");
  for (const cluster of [c1, c2]) {
    const written = await cluster.writesAfterRestart(40_000);
    assert.deepEqual(written, [], `a restart of ${cluster.id} writes nothing`);
    check(`after a restart of ${cluster.id}`);
  }
  c1.serve("shop/web", addresses(2));
  await c2.importAfter(20_000, "shop/web", "vip 10.1.0.1 10.1.0.2");
  c1.delete("ServiceExport", "aaa/greedy");
  await c2.importAfter(20_000, "aaa/greedy", undefined);
});

test("an import says in its condition why endpoints of a peer were rejected, until none is", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  const outside = ["203.0.113.5", "203.0.113.6", "169.254.169.254"];
  c1.offer("shop/web", [...addresses(2), ...outside.slice(0, 2)]);
  await world.run(20_000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.1 10.1.0.2" });
  assert.match(c2.ready(), /^True Ready ClusterSetIP \S+\. Left out: outside-endpoint-cidrs\.$/);
  assert.match(c1.ready(), /^True Ready ClusterSetIP \S+\.$/);
  c1.serve("shop/web", [...addresses(2), ...outside.slice(1, 2)]);
  assert.deepEqual(await c2.writesIn(20_000), [], "fewer endpoints with the same reason");
  c1.serve("shop/web", addresses(2));
  await c2.readyAfter(20_000, /^True Ready ClusterSetIP \S+\.$/);
});

for (const onHub of [false, true]) {
  test(`${onHub ? "on a hub" : "in a mesh"}: an export says that other clusters reject endpoints, until they do not, also after a restart`, async () => {
    const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"], undefined, onHub);
    c1.offer("shop/web", ["10.1.0.7", "203.0.113.5", "203.0.113.6"]);
    await world.run(20_000);
    const place = onHub ? "Published to the hub" : "Published to this cluster's registry";
    const by = onHub ? "the hub" : "cluster c2";
    const rejected = (count: number, of: number) =>
      `${count} of ${of} endpoint${of > 1 ? "s" : ""}, such as 203.0.113.5, ${count > 1 ? "are" : "is"} outside the endpoint CIDRs that ${by} declares for this cluster: `;
    const ready = () => exportOf(c1);
    const used = onHub ? "Exported" : "Ready";
    assert.ok(ready().startsWith(`True ${used} ${place}. ${rejected(2, 3)}"10.0.0.0/8,`), ready());
    assert.match(ready(), / Left out: outside-endpoint-cidrs\.$/);
    c1.serve("shop/web", ["203.0.113.5"]);
    await world.pass(20_000);
    const none = `False EndpointsLeftOut ${place}, but no other cluster uses an endpoint of it. ${rejected(1, 1)}`;
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
    const written = c1.writesAfter(since, "serviceexports");
    assert.deepEqual(written, [], "a restart says nothing new");
    c1.serve("shop/web", ["10.1.0.7"]);
    await world.pass(20_000);
    assert.equal(ready(), `True ${used} ${place}.`);
  });
}

test("an export follows the ranges that are declared for its cluster", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  const RANGES = "clusterset-proxy.io/endpoint-cidrs";
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.run(20_000);
  assert.equal(exportOf(c1), PUBLISHED);
  c2.introduce("c1", undefined, { [RANGES]: "10.2.0.0/16" });
  await world.pass(20_000);
  assert.match(exportOf(c1), /^False .*cluster c2 declares .*"10\.2\.0\.0\/16"/);
  c2.introduce("c1", undefined, { [RANGES]: "10.1.0.0/16" });
  await world.pass(20_000);
  assert.equal(exportOf(c1), PUBLISHED);
});

test("an export says in its condition what of it is not published, until all is", async () => {
  const { world, c1 } = ControllerWorld.withFlags();
  const metadata = { namespace: "shop", name: "web" };
  const all = addresses(2);
  const foreign = (cluster: string) => {
    const labels = { "multicluster.kubernetes.io/source-cluster": cluster };
    c1.slice("shop/web-other", ["10.9.0.1"], { labels });
  };
  const exported = (spec: object) => c1.apply({ kind: "ServiceExport", metadata, spec });
  const labels = { "app.kubernetes.io/instance": "web", team: "shop" };
  const ports = Array.from({ length: 150 }, (_, i) => `p${i} ${1000 + i}`);
  await world.run(5000);
  for (const [change, leftOut] of [
    [() => c1.offer("shop/web", all), ""],
    [() => foreign("c9"), "foreign-cluster"],
    [() => foreign("c1"), ""],
    [
      () => c1.serve("shop/web", [...all, "169.254.169.254", "241.0.0.7"]),
      "in-clusterset-cidr, link-local-address",
    ],
    [() => c1.serve("shop/web", [...all, "169.254.169.254"]), "link-local-address"],
    [() => c1.serve("shop/web", all), ""],
    [() => exported({ exportedLabels: labels }), "reserved-key"],
    [
      () => exported({ exportedAnnotations: { "example.com/notes": "x".repeat(40_000) } }),
      "too-many-keys",
    ],
    [() => exported({}), ""],
    [() => c1.serveAs("shop/web", all, { ports }), "too-many-ports"],
  ] as const) {
    change();
    await world.pass(20_000);
    const told = leftOut === "" ? "" : ` Left out: ${leftOut}.`;
    assert.equal(exportOf(c1), `${PUBLISHED}${told}`);
  }
});
