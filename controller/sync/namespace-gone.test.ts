import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

test("imports of a deleted namespace are not counted, those of a recreated one are", async () => {
  const world = await ControllerWorld.withExport(["c1", "c2"]);
  const [, c2] = world.clusters;
  const counted = async () =>
    /clusterset_controller_imports\{reason="exported"\} (\d+)/.exec(await c2.metrics.text())?.[1];
  assert.equal(await counted(), "1");
  for (const kind of ["serviceimports", "endpointslices"]) {
    for (const { metadata } of c2.server.objects.list(kind)) {
      const { namespace, name } = metadata as { namespace: string; name: string };
      c2.server.objects.delete(kind, `${namespace}/${name}`);
    }
  }
  c2.server.objects.delete("namespaces", "shop");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), {});
  assert.equal(await counted(), "0");
  c2.namespace("shop");
  await world.pass(5000);
  assert.equal(await counted(), "1");
});
