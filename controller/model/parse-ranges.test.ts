import assert from "node:assert/strict";
import { test } from "node:test";
import { parseNodeRanges, parseServiceRanges } from "./parse-ranges.ts";

const metadata = { name: "n1" };

test("parses pod ranges of a Node and ranges of a ServiceCIDR", () => {
  const node = { metadata, spec: { podCIDRs: ["10.1.0.0/24", "fd00:1::/64"] } };
  assert.deepEqual(
    parseNodeRanges(node).fact?.map(({ text }) => text),
    ["10.1.0.0/24", "fd00:1::/64"],
  );
  const service = { metadata, spec: { cidrs: ["10.96.0.0/12"] } };
  assert.deepEqual(
    parseServiceRanges(service).fact?.map(({ text }) => text),
    ["10.96.0.0/12"],
  );
});

test("without ranges there is no fact; invalid ranges are left out and reported", () => {
  assert.deepEqual(parseNodeRanges({ metadata, spec: {} }), { object: "Node n1", problems: [] });
  const { fact, problems } = parseNodeRanges({
    metadata,
    spec: { podCIDRs: ["x", 7, "10.0.0.0/8"] },
  });
  assert.deepEqual(
    fact?.map(({ text }) => text),
    ["10.0.0.0/8"],
  );
  assert.deepEqual(
    problems.map(({ reason, field }) => `${reason} ${field}`),
    ["invalid-cidr spec.podCIDRs[0]", "invalid-cidr spec.podCIDRs[1]"],
  );
  assert.equal(parseServiceRanges({ metadata, spec: { cidrs: "x" } }).problems.length, 1);
});
