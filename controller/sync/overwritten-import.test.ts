import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

test("backoff applies to another controller that reverts an import after each write", async () => {
  const world = await ControllerWorld.withExport(["c1"]);
  const [c1] = world.clusters;
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
  const { length } = c1.server.writes;
  await world.pass(60_000);
  const writes = c1.writesAfter(length).length;
  assert.ok(writes < 30, String(writes));
  isAtPeace = true;
  await world.pass(120_000);
  assert.equal(at(objects.get("serviceimports", "shop/web"), ["spec", "type"]), "ClusterSetIP");
});

test("backoff applies to another controller that reverts the status of an export after each write", async () => {
  const world = await ControllerWorld.withExport(["c1"]);
  const [c1] = world.clusters;
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
  const { length } = c1.server.writes;
  await world.pass(60_000);
  const writes = c1.writesAfter(length).filter(({ kind }) => kind === "serviceexports").length;
  assert.ok(writes > 3 && writes < 30, String(writes));
});
