import assert from "node:assert/strict";
import { test } from "node:test";
import { importObject, sliceObject } from "../generators/objects.ts";
import { eventually } from "../stages/agent-process.ts";
import { AgentStage } from "./agent-stage.ts";
import { kubernetesCommand } from "./commands.ts";

// kube-apiserver fails watch lists with status 500, in the response or as an event of the stream, if its etcd lacks RequestWatchProgress: before 3.4.25 and 3.5.8.

const HTTP = { name: "http", port: 80, protocol: "TCP" };

test("the agent becomes ready and follows changes with Debian's etcd 3.4.23", async () => {
  await using stage = await AgentStage.open({
    flags: ["--cluster-id", "c1"],
    etcd: kubernetesCommand("debian-etcd"),
  });
  const { admin } = stage.plane;
  await admin.apply(importObject("shop/web", ["241.0.0.10"], [HTTP]));
  const slice = (address: string) =>
    sliceObject("web-c1", "shop/web", { cluster: "c1" }, [HTTP], [address]);
  await admin.apply(slice("10.1.0.7"));
  await stage.restartAgent();
  assert.match(await stage.rules(), /shop\/web:http local c1.*--to-destination 10\.1\.0\.7:80/);
  await admin.apply(slice("10.1.0.8"));
  await eventually(async () =>
    assert.match(await stage.rules(), /--to-destination 10\.1\.0\.8:80/),
  );
  const isList = (uri: string) => uri.includes("/serviceimports?") && uri.includes("limit=500");
  assert.equal(stage.asked().filter(({ uri }) => isList(uri)).length, 1);
});
