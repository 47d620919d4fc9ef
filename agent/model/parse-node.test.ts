import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CLUSTER_PROPERTY_CASES, NODE_CASES } from "../../test/generators/hostile-nodes.ts";
import { parseClusterProperty } from "./parse-cluster-property.ts";
import { parseNode } from "./parse-node.ts";

const PLAIN = {
  region: "eu-west",
  zone: "eu-west-a",
  podCidrs: ["10.1.3.0/24", "fd10:1:3::/64"],
  addresses: ["192.0.2.3", "2001:db8::3"],
};

describe("parseNode on", () => {
  for (const { name, object, fact, problems } of NODE_CASES) {
    test(name, () => {
      const parsed = parseNode(object);
      const seen = parsed.fact && {
        region: parsed.fact.region,
        zone: parsed.fact.zone,
        podCidrs: parsed.fact.podCidrs.map(({ text }) => text),
        addresses: parsed.fact.addresses,
      };
      assert.deepEqual(seen, fact && { ...PLAIN, ...fact });
      assert.deepEqual(
        parsed.problems.map(({ reason, field }) => `${reason} ${field}`),
        problems,
      );
      assert.match(parsed.object, /^Node [\x20-\x7e]{0,260}$/);
    });
  }
});

describe("parseClusterProperty on", () => {
  for (const { name, object, fact, problems } of CLUSTER_PROPERTY_CASES) {
    test(name, () => {
      const parsed = parseClusterProperty(object);
      assert.deepEqual(parsed.fact, fact);
      assert.deepEqual(
        parsed.problems.map(({ reason, field }) => `${reason} ${field}`),
        problems,
      );
      assert.match(parsed.object, /^ClusterProperty [\x20-\x7e]{0,260}$/);
    });
  }
});
