import assert from "node:assert/strict";
import { test } from "node:test";
import { ControlPlane } from "./control-plane.ts";

test("first", async () => {
  console.time("start");
  await using plane = await ControlPlane.start();
  console.timeEnd("start");
  console.time("crds");
  await plane.installCrds();
  console.timeEnd("crds");
  const ns = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  await plane.admin.create(ns);
  assert.equal((await plane.admin.get(ns)).metadata.name, "shop");
  console.time("compact");
  await plane.compact();
  console.timeEnd("compact");
  console.time("delete");
  await plane.deleteNamespace("shop");
  console.timeEnd("delete");
  await assert.rejects(plane.admin.get(ns), /404/);
});
