import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { isUsage } from "../../common/config/usage.ts";
import { createLogger } from "../../common/log.ts";
import { cidr } from "../../test/generators/facts.ts";
import { type AgentConfig, parseConfig } from "../config/config.ts";
import { NOT_OBSERVED, nodeFact } from "../config/node-fact.ts";
import type { NodeObservation } from "../model/facts.ts";
import { LocalNode } from "./local-node.ts";

const KUBERNETES = ["--kubeconfig", "k"];

function configOf(argv: readonly string[]): AgentConfig {
  const config = parseConfig(["run", ...argv], {}, { name: "n1", terminal: false });
  assert.ok(!isUsage(config));
  return config;
}

function home(argv: readonly string[]) {
  const config = configOf(argv);
  const first = nodeFact(config, []);
  assert.ok(!isUsage(first));
  const lines: string[] = [];
  const sink = {
    write: (line: string) => {
      const { level, msg, cluster = "-", region = "-" } = JSON.parse(line);
      lines.push(`${level} ${msg} ${cluster} ${region}`);
    },
  };
  const log = createLogger({ level: "info", format: "json" }, sink);
  return { node: new LocalNode({ config, addresses: ["10.96.0.1"], first, log }), lines };
}

function observed(region: string, cluster: string, address = "192.0.2.9"): NodeObservation {
  return {
    object: { region, podCidrs: [cidr("10.1.3.0/24")], addresses: [address] },
    properties: new Map([[PROPERTY_CLUSTER_ID, cluster]]),
  };
}

describe("the local node", () => {
  test("logs its location once all sources have listed, and when it changes", () => {
    const { node, lines } = home(KUBERNETES);
    node.of(NOT_OBSERVED);
    node.of(observed("eu", "c1"));
    assert.deepEqual(lines, []);
    node.listed();
    node.of(observed("eu", "c1", "192.0.2.10"));
    assert.deepEqual(lines, ["info Node location c1 eu"]);
    node.of(observed("us", "c1"));
    assert.deepEqual(lines.slice(1), ["info Node location c1 us"]);
  });

  test("logs a missing cluster ID and region, except with manifests", () => {
    const { node, lines } = home(KUBERNETES);
    node.of(NOT_OBSERVED);
    node.listed();
    assert.deepEqual(lines, [
      "info Node location - -",
      "warn Cluster ID unknown: no endpoint counts as local - -",
      "warn Region unknown: no endpoint counts as regional - -",
    ]);
    const manifests = home(["--manifests", "dir"]);
    manifests.node.of(NOT_OBSERVED);
    manifests.node.listed();
    assert.deepEqual(manifests.lines, []);
  });

  test("keeps the last facts while the node contradicts a flag, and logs that once", () => {
    const { node, lines } = home([...KUBERNETES, "--clusterset-cidr", "198.51.100.0/24"]);
    const before = node.of(observed("eu", "c1"));
    node.listed();
    lines.length = 0;
    for (let i = 0; i < 3; i++) {
      assert.equal(node.of(observed("us", "c1", "198.51.100.7")), before);
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /^error Node contradicts a flag/);
    assert.match(node.fault, /contains 198\.51\.100\.7/);
    assert.equal(node.of(observed("us", "c1")).region, "us");
    assert.equal(node.fault, "");
    assert.equal(lines.length, 3);
    assert.match(lines[1] ?? "", /^info Node contradicts no flag now/);
  });
});
