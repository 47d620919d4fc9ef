import assert from "node:assert/strict";
import { test } from "node:test";
import { isUsage } from "../../common/config/usage.ts";
import { agentSettings } from "./objects.ts";

function daemonSet(
  env: readonly object[],
  image = "registry.example.com:5000/clusterset-agent:0.1.0",
) {
  return { spec: { template: { spec: { containers: [{ name: "agent", image, env }] } } } };
}

test("the configuration is that of the DaemonSet's environment, and what is stated elsewhere is named", () => {
  const settings = agentSettings([
    daemonSet([
      { name: "CLUSTERSET_AGENT_CLUSTERSET_CIDR", value: "242.0.0.0/8" },
      { name: "CLUSTERSET_AGENT_NODE_NAME", valueFrom: { fieldRef: {} } },
      { name: "CLUSTERSET_AGENT_HEALTH", valueFrom: { configMapKeyRef: {} } },
    ]),
  ]);
  assert.ok(!isUsage(settings));
  const cidrs = settings.config.clusterSetCidrs.map(({ text }) => text);
  assert.deepEqual(cidrs, ["242.0.0.0/8"]);
  assert.deepEqual(settings.unknown, ["CLUSTERSET_AGENT_HEALTH"]);
  assert.equal(settings.version, "0.1.0");
});

test("what each node has of its own, as with the component metrics, and other variables change nothing", () => {
  const settings = agentSettings([
    daemonSet([
      { name: "HOST_IP", valueFrom: { fieldRef: { fieldPath: "status.hostIP" } } },
      { name: "CLUSTERSET_AGENT_HTTP_ADDRESS", value: "$(HOST_IP):10269" },
      { name: "CLUSTERSET_AGENT_POD_CIDRS", value: "$(PODS)" },
    ]),
  ]);
  assert.ok(!isUsage(settings));
  assert.deepEqual(settings.unknown, ["CLUSTERSET_AGENT_POD_CIDRS"]);
});

test("an image by digest alone, or from a registry with a port, has no version", () => {
  for (const image of ["clusterset-agent", "example.com:5000/agent", "agent@sha256:0123456789"]) {
    const settings = agentSettings([daemonSet([], image)]);
    assert.ok(!isUsage(settings));
    assert.equal(settings.version, undefined, image);
  }
});

test("a value that agents reject is a usage error", () => {
  assert.ok(isUsage(agentSettings([daemonSet([{ name: "CLUSTERSET_AGENT_HEALTH", value: "x" }])])));
});
