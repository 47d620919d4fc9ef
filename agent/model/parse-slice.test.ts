import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import { SLICE_PROPERTY_CASES } from "../../test/generators/hostile-properties.ts";
import { endpointSlice, SLICE_CASES } from "../../test/generators/hostile-slices.ts";
import { parseSlice } from "./parse-slice.ts";

const PLAIN = {
  key: "demo/serve-c2",
  importKey: "demo/serve",
  cluster: "c2",
  region: "eu-west",
  active: true,
  family: "IPv4",
  ports: [{ name: "http", protocol: "TCP", port: 8080 }],
  endpoints: [{ address: "10.2.0.1", condition: "ready" }],
};
const CLUSTER_SET = [cidr("241.0.0.0/8"), cidr("fd00:241::/108")];

/** What is expected as undefined is expected to be absent. */
function present(fact: object): object {
  return Object.fromEntries(Object.entries(fact).filter(([, value]) => value !== undefined));
}

describe("parseSlice on", () => {
  for (const { name, object, fact, problems } of [...SLICE_CASES, ...SLICE_PROPERTY_CASES]) {
    test(name, () => {
      const parsed = parseSlice(object, CLUSTER_SET);
      const seen = parsed.fact && { ...parsed.fact, endpoints: [...parsed.fact.endpoints] };
      assert.deepEqual(seen, fact && present({ ...PLAIN, ...fact }));
      assert.deepEqual(
        parsed.problems.map((problem) => `${problem.reason} ${problem.field}`),
        problems,
      );
      for (const problem of parsed.problems) assert.equal(problem.object, parsed.object);
      assert.match(parsed.object, /^EndpointSlice [\x20-\x7e]{0,350}$/);
    });
  }
});

test("without a ClusterSet CIDR, an endpoint may have any address", () => {
  const { fact } = parseSlice(endpointSlice({ endpoints: [{ addresses: ["241.0.0.1"] }] }));
  assert.equal(fact?.endpoints.length, 1);
});

test("a problem shows the invalid address", () => {
  const { problems } = parseSlice(endpointSlice({ endpoints: [{ addresses: ["127.0.0.1"] }] }));
  assert.deepEqual(problems, [
    {
      reason: "loopback-address",
      object: "EndpointSlice demo/serve-c2",
      field: "endpoints[0].addresses[0]",
      value: '"127.0.0.1"',
    },
  ]);
});

test("an invalid slice of the clusterset has a key, so that its earlier fact can be removed", () => {
  assert.equal(parseSlice(endpointSlice({ addressType: "FQDN" })).key, "demo/serve-c2");
  const unlabelled = { metadata: { namespace: "demo", name: "serve-c2" } };
  assert.equal(parseSlice(unlabelled).key, "demo/serve-c2");
  assert.equal(parseSlice(endpointSlice({}, {}, { name: "__proto__" })).key, undefined);
});
