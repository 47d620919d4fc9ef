import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { importObject } from "../generators/objects.ts";
import { AgentStage } from "./agent-stage.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const OTHER_NODE = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n9" },
  spec: { podCIDRs: ["10.99.9.0/24"] },
};
const ADDRESS = { status: { addresses: [{ type: "InternalIP", address: "203.0.113.99" }] } };
const API_SERVER = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: {
    namespace: "default",
    name: "kubernetes",
    labels: { "kubernetes.io/service-name": "kubernetes" },
  },
  addressType: "IPv4",
  endpoints: [{ addresses: ["203.0.113.6"] }],
};

let stage: AgentStage;
before(async () => {
  stage = await AgentStage.open({
    flags: ["--cluster-id", "c1", "--explicit-vip-cidrs", "0.0.0.0/0,::/0"],
  });
  const { admin } = stage.plane;
  await admin.apply(OTHER_NODE);
  await admin.patch(OTHER_NODE, ADDRESS, "status");
  await admin.apply(API_SERVER);
});
after(() => stage[Symbol.asyncDispose]());

test("an import cannot take an address that the cluster uses, though every range is allowed", async () => {
  const { admin } = stage.plane;
  await stage.node.exec(["ip", "address", "add", "198.18.5.1/24", "dev", "lo"]);
  const taken = {
    dns: "10.96.0.10",
    "other-node": "203.0.113.99",
    "other-pod": "10.99.9.7",
    "api-endpoint": "203.0.113.6",
    "api-server": new URL(stage.plane.url).hostname,
    node: stage.node.address("IPv4"),
    subnet: "198.18.5.77",
    metadata: "169.254.169.254",
  };
  for (const [name, vip] of Object.entries(taken)) {
    await admin.apply(importObject(`shop/${name}`, [vip], [HTTP]));
  }
  await admin.apply(importObject("shop/free", ["198.51.100.7"], [HTTP]));
  await stage.restartAgent();
  const rules = await stage.rules();
  for (const [name, vip] of Object.entries(taken)) {
    const plan = JSON.parse(await stage.agent.page(`/plan/shop/${name}`));
    assert.deepEqual(plan.vips, [{ address: vip, reason: "vip-reserved" }], name);
    assert.ok(!rules.includes(`-d ${vip}/32`), name);
  }
  assert.match(rules, /-d 198\.51\.100\.7\/32 .*shop\/free/);
});
