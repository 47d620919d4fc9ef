import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

/** The condition Conflict of the export shop/web. */
function conflictOf({ server }: MemoryCluster): unknown {
  const conditions = at(server.objects.get("serviceexports", "shop/web"), ["status", "conditions"]);
  const list: unknown[] = Array.isArray(conditions) ? conditions : [];
  return at(
    list.find((one) => at(one, ["type"]) === "Conflict"),
    ["reason"],
  );
}

test("conflicts and their end are reported while a member was never synced", async () => {
  const world = new ControllerWorld(["c1", "c2", "c3"]);
  const [c1, c2] = world.clusters;
  const serve = (port: number) => c2.serve("shop/web", ["10.2.0.7"], [], port);
  c1.serve("shop/web", ["10.1.0.7"]);
  serve(8080);
  for (const cluster of [c1, c2]) {
    cluster.namespace("shop");
    cluster.start();
  }
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
