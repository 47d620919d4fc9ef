import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiRequest } from "../../common/kubernetes/api-server.ts";
import { at } from "../../test/doubles/memory/fields.ts";
import { keyOf } from "../../test/stages/cluster-manifests.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { TASK_KINDS } from "../model/task.ts";

/** For minutes, a condition does not change, although each attempt is accepted before it is reverted. */
async function isStable(world: ControllerWorld, { server }: MemoryCluster, ready: () => string) {
  const said = new Set([ready()]);
  const unlisten = server.objects.listen(() => said.add(ready()));
  await world.pass(300_000);
  unlisten();
  assert.equal(said.size, 1, [...said].join("\n"));
}

test("another controller that empties a published slice after each write: the condition of the export says so until it ends", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1"]);
  const { objects } = c1.server;
  const ready = () => c1.ready("shop/web", "serviceexports");
  const unlisten = objects.listen(({ kind, key, object, type }) => {
    const isPublished = kind === "endpointslices" && key.includes("registry");
    if (!isPublished || type === "DELETED" || String(at(object, ["endpoints"])) === "") return;
    objects.replace(kind, key, { ...structuredClone(object), endpoints: [] }, "another");
  });
  c1.serve("shop/web", ["10.1.0.8"]);
  await world.pass(30_000);
  assert.match(ready(), /^False Failed .*overwritten: Another writer reverts/);
  await isStable(world, c1, ready);
  unlisten();
  await world.pass(130_000);
  assert.match(ready(), /^True/);
});

test("backoff applies to another controller that reverts an import after each write", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1"]);
  const theirs = {
    kind: "ServiceImport",
    metadata: { namespace: "shop", name: "web" },
    spec: { type: "Headless" },
  };
  const { objects } = c1.server;
  let isAtPeace = false;
  objects.listen(({ kind, key, object }) => {
    if (isAtPeace || kind !== "serviceimports" || key !== "shop/web") return;
    if (at(object, ["spec", "type"]) === "Headless") return;
    world.clock.after(5, () => objects.apply(kind, key, theirs, "another"));
  });
  objects.apply("serviceimports", "shop/web", theirs, "another");
  const { length: writes } = await c1.writesIn(60_000);
  assert.ok(writes < 30, String(writes));
  await c1.readyAfter(90_000, /^False WriteRejected overwritten: .*reverts shop\/web after each/);
  await isStable(world, c1, () => c1.ready());
  isAtPeace = true;
  await world.pass(130_000);
  assert.equal(c1.read("serviceimports", "shop/web", "spec", "type"), "ClusterSetIP");
  assert.match(c1.ready(), /^True/);
});

test("backoff applies to another controller that reverts the status of an export after each write", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1"]);
  const { objects } = c1.server;
  const theirs = {
    kind: "ServiceExport",
    metadata: { namespace: "shop", name: "web" },
    status: { conditions: [{ type: "Valid", status: "False", reason: "NoService" }] },
  };
  const said = JSON.stringify(theirs.status);
  objects.listen(({ kind, key, object }) => {
    if (kind !== "serviceexports" || JSON.stringify(object?.status) === said) return;
    world.clock.after(5, () => objects.apply(kind, key, theirs, "another", "status"));
  });
  objects.apply("serviceexports", "shop/web", theirs, "another", "status");
  const { length: writes } = await c1.writesIn(60_000, "serviceexports");
  assert.ok(writes > 3 && writes < 30, String(writes));
});

/** Calls `appear` right before the first creation of an object reaches the API server. */
function beforeCreation({ server }: MemoryCluster, kind: string, appear: () => void): void {
  const request = server.request.bind(server);
  let isFirst = true;
  server.request = (asked) => {
    const creates = asked.write?.method === "PATCH" && asked.path.includes(`/${kind}/`);
    if (creates && !asked.path.includes("/status") && isFirst) {
      isFirst = false;
      appear();
    }
    return request(asked);
  };
}

test("an import that a user creates while the controller creates it is adopted with its VIP, and released when the export is gone", async () => {
  const { world, c1, c2 } = ControllerWorld.withFlags();
  c1.offer("shop/web", ["10.1.0.7"]);
  beforeCreation(c2, "serviceimports", () => c2.importByHand("shop/web", ["241.0.0.77"]));
  await world.run(20_000);
  const { objects } = c2.server;
  const adopted = objects.get("serviceimports", "shop/web");
  assert.deepEqual(at(adopted, ["spec", "ips"]), ["241.0.0.77"]);
  assert.equal(at(adopted, ["metadata", "annotations", "clusterset-proxy.io/import"]), "adopted");
  c1.delete("ServiceExport", "shop/web");
  await world.pass(20_000);
  const ports = [{ port: 80, protocol: "TCP" }];
  const written = { type: "ClusterSetIP", ports, ips: ["241.0.0.77"] };
  assert.deepEqual(objects.get("serviceimports", "shop/web")?.spec, written);
});

test("a slice under the name of an imported one, without its labels, is taken over", async () => {
  const { world, c2 } = await ControllerWorld.withExport(["c1", "c2"]);
  const { objects } = c2.server;
  const [slice] = objects.list("endpointslices").filter((object) => isImported(object));
  assert.ok(slice);
  const labels = { "endpointslice.kubernetes.io/managed-by": "another" };
  c2.edit("endpointslices", keyOf(slice), { metadata: { labels } });
  await world.pass(20_000);
  assert.ok(isImported(objects.get("endpointslices", keyOf(slice))));
});

test("a record that lost its label is published again", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1", "c2"]);
  const { objects } = c1.server;
  const key = "clusterset-registry-c1/web.shop";
  const record = objects.get("serviceimports", key);
  assert.ok(record);
  const bare = structuredClone(record);
  (bare.metadata as Record<string, unknown>).labels = {};
  objects.replace("serviceimports", key, bare, "another");
  await world.pass(20_000);
  const label = ["metadata", "labels", "clusterset-proxy.io/record"];
  assert.equal(c1.read("serviceimports", key, ...label), "web.shop");
});

function isImported(slice: unknown): boolean {
  const label = (name: string) => at(slice, ["metadata", "labels", name]);
  return (
    label("endpointslice.kubernetes.io/managed-by") === "clusterset-controller" &&
    label("multicluster.kubernetes.io/source-cluster") === "c1"
  );
}

/** Number of reconciles of a kind in a cluster's controller. */
async function tasksOf({ metrics }: MemoryCluster, kind: string): Promise<number> {
  const line = new RegExp(`change_duration_seconds_count\\{task="${kind}"\\} (\\d+)`);
  return Number(line.exec(await metrics.text())?.[1] ?? 0);
}

/** Reconciles that an action causes, until the queue is empty, by kind. */
async function tasksAfter(world: ControllerWorld, act: () => void): Promise<object> {
  const c1 = world.cluster("c1");
  const count = () => Promise.all(TASK_KINDS.map((kind) => tasksOf(c1, kind)));
  const before = await count();
  act();
  await world.pass(5000);
  const counts = (await count()).map((now, i) => [TASK_KINDS[i], now - Number(before[i])] as const);
  return Object.fromEntries(counts.filter(([, more]) => more > 0));
}

test("a write of our own queues only the reconciles that depend on it", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1"]);
  await world.pass(60_000);
  const endpoints = await tasksAfter(world, () => c1.serve("shop/web", ["10.1.0.8"]));
  // The import is reconciled at once, and when the registry has the slice: its name and packing are the registry's.
  assert.deepEqual(endpoints, { export: 1, import: 2 });
  await tasksAfter(world, () => c1.export("shop/api"));
  // The status depends on the publication, and on the clusters in the status of the import.
  const service = await tasksAfter(world, () => c1.serve("shop/api", ["10.1.0.9"]));
  assert.deepEqual(service, { export: 1, import: 2, status: 2 });
});

test("a write of another writer to an import queues a reconcile", async () => {
  const { world, c1 } = await ControllerWorld.withExport(["c1"]);
  await world.pass(60_000);
  const counts = await tasksAfter(world, () =>
    c1.edit("serviceimports", "shop/web", { metadata: { labels: { other: "writer" } } }),
  );
  assert.deepEqual(counts, { import: 1 });
});

/** The spec of the import; its status is written next, in the same reconcile. */
const SPEC = /\/namespaces\/shop\/serviceimports\/web\?/;
/** Milliseconds; longer than an election Lease. */
const PAUSE_MS = 60_000;

test("a reconcile whose clock passes the end of the Lease between two writes does not send the second one", async () => {
  const { world, c1 } = ControllerWorld.of(["c1"]);
  await world.run(5000);
  const { server } = c1;
  const late: string[] = [];
  let hasPaused = false;
  const answer = server.request.bind(server);
  server.request = async (request: ApiRequest) => {
    if (hasPaused && request.write !== undefined) late.push(request.path);
    const response = await answer(request);
    if (!hasPaused && request.write?.method === "PATCH" && SPEC.test(request.path)) {
      hasPaused = true;
      world.clock.jump(PAUSE_MS);
    }
    return response;
  };
  c1.offer("shop/web", ["10.1.0.7"]);
  for (let ms = 0; ms < 5000 && !hasPaused; ms++) await world.pass(1);
  assert.ok(hasPaused);
  const status = () => server.objects.get("serviceimports", "shop/web")?.status;
  assert.deepEqual(late, []);
  assert.equal(status(), undefined);
  await world.pass(60_000);
  assert.deepEqual(at(status(), ["clusters"]), [{ cluster: "c1" }], "written after re-election");
});
