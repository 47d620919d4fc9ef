import assert from "node:assert/strict";
import { test } from "node:test";
import { Lab } from "../lab/lab.ts";
import { ControlPlane } from "./control-plane.ts";

test("A server in a namespace is reachable from the lab's nodes and from clients in this process", async () => {
  await using lab = await Lab.create({
    clusters: [{ id: "c1", nodes: [{ name: "n1" }, { name: "n2" }] }],
  });
  const node = lab.node("c1", "n1");
  await using plane = await ControlPlane.start({ namespace: node, users: ["agent"] });
  assert.equal(plane.url, `https://${node.address()}:6443`);
  const metadata = { name: "shop" };
  await plane.admin.create({ apiVersion: "v1", kind: "Namespace", metadata });

  const kubeconfig = plane.kubeconfig({ user: "agent" });
  const ca = `${plane.directory}/certificates/apiserver.crt`;
  const token = `${plane.directory}/agent.token`;
  const script = `curl -sS --max-time 5 --cacert ${ca} -H "Authorization: Bearer $(cat ${token})" "$0"`;
  const answer = await lab
    .node("c1", "n2")
    .exec(["sh", "-c", script, `${plane.url}/api/v1/namespaces/shop`]);
  assert.match(answer, /namespaces \\"shop\\" is forbidden: User \\"agent\\"/);
  assert.ok(kubeconfig.startsWith(plane.directory));

  const watch = plane.admin.watch({ apiVersion: "v1", kind: "Namespace" });
  const first = await watch.next();
  assert.equal(first.value?.type, "ADDED", JSON.stringify(first.value));
  await plane.kill();
  await assert.rejects(async () => {
    for await (const _ of watch);
  });
  await assert.rejects(plane.admin.request("GET", "/readyz"), /ECONNREFUSED/);
  await plane.start();
  assert.equal(
    (await plane.admin.get({ apiVersion: "v1", kind: "Namespace", metadata })).metadata.name,
    "shop",
  );
});
