import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { isUsage } from "../../common/config/usage.ts";
import { createLogger } from "../../common/log.ts";
import { cidr } from "../../test/support/worlds.ts";
import { type AgentConfig, parseConfig } from "../config/config.ts";
import { nodeFact, UNSEEN } from "../config/node-fact.ts";
import type { NodeSight } from "../model/facts.ts";
import { HomeNode } from "./home-node.ts";

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
  return { node: new HomeNode({ config, addresses: ["10.96.0.1"], first, log }), lines };
}

function sight(region: string, cluster: string, address = "192.0.2.9"): NodeSight {
  return {
    object: { region, podCidrs: [cidr("10.1.3.0/24")], addresses: [address] },
    properties: new Map([[PROPERTY_CLUSTER_ID, cluster]]),
  };
}

describe("the home node", () => {
  test("tells where it is once all can be known, and whenever it is elsewhere", () => {
    const { node, lines } = home(KUBERNETES);
    node.of(UNSEEN);
    node.of(sight("eu", "c1"));
    assert.deepEqual(lines, []);
    node.listed();
    node.of(sight("eu", "c1", "192.0.2.10"));
    assert.deepEqual(lines, ["info This is where the node is. c1 eu"]);
    node.of(sight("us", "c1"));
    assert.deepEqual(lines.slice(1), ["info This is where the node is. c1 us"]);
  });

  test("says what nobody says, but not what the flags have told already", () => {
    const { node, lines } = home(KUBERNETES);
    node.of(UNSEEN);
    node.listed();
    assert.deepEqual(lines, [
      "info This is where the node is. - -",
      "warn Nobody names this cluster: no endpoint counts as local. - -",
      "warn Nobody names this node's region: no endpoint counts as regional. - -",
    ]);
    const manifests = home(["--manifests", "dir"]);
    manifests.node.of(UNSEEN);
    manifests.node.listed();
    assert.deepEqual(manifests.lines, []);
  });

  test("stays what it was while what is seen contradicts the operator, and says so once", () => {
    const { node, lines } = home([...KUBERNETES, "--clusterset-cidr", "198.51.100.0/24"]);
    const before = node.of(sight("eu", "c1"));
    node.listed();
    lines.length = 0;
    for (let i = 0; i < 3; i++) {
      assert.equal(node.of(sight("us", "c1", "198.51.100.7")), before);
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /^error What is seen of this node contradicts a flag/);
    assert.equal(node.of(sight("us", "c1")).region, "us");
    assert.equal(lines.length, 3);
    assert.match(lines[1] ?? "", /^info What is seen of this node contradicts no flag any more/);
  });

  test("reserves the addresses of its API server, of its Node and of its interfaces", () => {
    const { node } = home(KUBERNETES);
    const seen = { ...sight("eu", "c1"), addresses: ["127.0.0.1"] };
    assert.deepEqual([...node.of(seen).reservedAddresses].sort(), [
      "10.96.0.1",
      "127.0.0.1",
      "192.0.2.9",
    ]);
  });
});
