import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { AGENT, AgentStage } from "./agent-stage.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/clusterset-agent", import.meta.url));
const REGION = { "topology.kubernetes.io/region": "eu-west" };

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({ crds: "all" });
  const { admin } = stage.plane;
  await admin.apply({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", labels: REGION },
    spec: { podCIDRs: ["10.1.3.0/24"] },
  });
  await admin.apply(importObject("shop/web", ["241.0.0.7"], [{ name: "http", port: 80 }]));
  for (const [cluster, address] of [
    ["c1", "10.1.3.5"],
    ["c2", "10.2.0.5"],
  ] as const) {
    const origin = { cluster, region: cluster === "c1" ? "eu-west" : "us-east" };
    const slice = sliceObject(
      `web-${cluster}`,
      "shop/web",
      origin,
      [{ name: "http", port: 8080 }],
      [address],
    );
    await admin.apply(slice);
  }
});
after(() => stage[Symbol.asyncDispose]());

function property(value: string): object {
  return {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: PROPERTY_CLUSTER_ID },
    spec: { value },
  };
}

test("the node's region and zone come from the API server, and changes are programmed", async () => {
  stage.newAgent();
  await stage.agent.start();
  assert.match(await stage.rules(), /"shop\/web:http regional c1"/);
  assert.match(stage.agent.log, /Cluster ID unknown/);
  assert.doesNotMatch(stage.agent.log, /Region unknown/);
  await stage.plane.admin.apply(property("c1"));
  await stage.untilRules(/"shop\/web:http local c1"/);
  await stage.plane.admin.apply(property("c2"));
  await stage.untilRules(/"shop\/web:http local c2"/);
  await stage.plane.admin.apply(property("not an id"));
  // An invalid id names no cluster: only the region is known.
  await stage.untilRules(/"shop\/web:http regional c1"/);
  assert.match(stage.agent.log, /ClusterProperty cluster\.clusterset\.k8s\.io/);
  await stage.plane.admin.apply(property("c1"));
  await stage.untilRules(/"shop\/web:http local c1"/);
  assert.equal((await stage.agent.stop()).code, 0);
});

test("when a node moves to another region, new connections follow, there and back", async () => {
  const { admin } = stage.plane;
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } };
  const moveTo = (region: string) =>
    admin.patch(node, { metadata: { labels: { "topology.kubernetes.io/region": region } } });
  await admin.apply(property("c3"));
  stage.newAgent();
  await stage.agent.start();
  assert.match(await stage.rules(), /"shop\/web:http regional c1"/);
  await moveTo("us-east");
  await stage.untilRules(/"shop\/web:http regional c2"/);
  await moveTo("ap-south");
  await stage.untilRules(/"shop\/web:http global c1"/);
  await moveTo("eu-west");
  await stage.untilRules(/"shop\/web:http regional c1"/);
  await admin.apply(property("c1"));
  await stage.untilRules(/"shop\/web:http local c1"/);
  assert.equal((await stage.agent.stop()).code, 0);
});

test("plan and render read once, and change nothing", async () => {
  const kubeconfig = stage.plane.kubeconfig({ user: AGENT });
  const argv = ["--kubeconfig", kubeconfig, "--node-name", "n1"];
  const before = await stage.rules();
  const plan = await stage.node.exec([PROGRAM, "plan", ...argv]);
  assert.match(plan, /"tier": ?"local"/);
  assert.match(await stage.node.exec([PROGRAM, "render", ...argv]), /shop\/web:http local c1/);
  assert.equal(await stage.rules(), before);
});

test("plan without any rights reports the reason, in bounded time", {
  timeout: 60_000,
}, async () => {
  await stage.forbid();
  const kubeconfig = stage.plane.kubeconfig({ user: AGENT });
  const { code, stdout, stderr } = await stage.node.run([
    ...[PROGRAM, "plan", "--kubeconfig", kubeconfig, "--node-name", "n1"],
  ]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /CSP_API_REQUEST/);
  assert.match(stderr, /serviceimports: forbidden/);
  await stage.allow();
});
