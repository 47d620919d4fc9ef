import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { TASK_KINDS } from "../model/task.ts";

/** Number of reconciles of a cluster's controller, by kind. */
async function tasksOf({ metrics }: MemoryCluster): Promise<Record<string, number>> {
  const text = await metrics.text();
  const counts = TASK_KINDS.map((kind) => {
    const line = new RegExp(`change_duration_seconds_count\\{task="${kind}"\\} (\\d+)`).exec(text);
    return [kind, Number(line?.[1] ?? 0)] as const;
  });
  return Object.fromEntries(counts);
}

/** Reconciles that an action causes, until the queue is empty. */
async function tasksAfter(
  world: ControllerWorld,
  act: () => void,
): Promise<Readonly<Record<string, number>>> {
  const c1 = world.cluster("c1");
  const before = await tasksOf(c1);
  act();
  await world.pass(5000);
  const after = await tasksOf(c1);
  return Object.fromEntries(
    TASK_KINDS.map((kind) => [kind, Number(after[kind]) - Number(before[kind])]),
  );
}

test("a write of our own queues only the reconciles that depend on it", async () => {
  const world = await ControllerWorld.withExport(["c1"]);
  const c1 = world.cluster("c1");
  await world.pass(60_000);
  const endpoints = await tasksAfter(world, () => c1.serve("shop/web", ["10.1.0.8"]));
  // The import is reconciled at once, and when the registry has the slice: its name and packing are the registry's.
  assert.deepEqual(endpoints, { export: 1, import: 2, status: 0, failover: 0 });
  await tasksAfter(world, () => c1.export("shop/api"));
  // The status depends on the publication, and on the clusters in the status of the import.
  const service = await tasksAfter(world, () => c1.serve("shop/api", ["10.1.0.9"]));
  assert.deepEqual(service, { export: 1, import: 2, status: 2, failover: 0 });
});

test("a write of another writer to an import queues a reconcile", async () => {
  const world = await ControllerWorld.withExport(["c1"]);
  const c1 = world.cluster("c1");
  await world.pass(60_000);
  const counts = await tasksAfter(world, () =>
    c1.apply({
      kind: "ServiceImport",
      metadata: { namespace: "shop", name: "web", labels: { other: "writer" } },
    }),
  );
  assert.deepEqual(counts, { export: 0, import: 1, status: 0, failover: 0 });
});
