import assert from "node:assert/strict";
import { test } from "node:test";
import { cidr, importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import type { NodeFact, SliceFact } from "../model/facts.ts";
import { planImport } from "./plan.ts";

const RANGES: NodeFact["endpointRanges"] = new Map([["c2", [cidr("10.2.0.0/16")]]]);

/** Endpoints that take traffic, and why others do not. */
function planned(slice: SliceFact, node = nodeFact({ endpointRanges: RANGES })) {
  const fact = importFact();
  const view = { key: fact.key, fact, slices: [slice], heldBy: new Map() };
  const { services, excluded } = planImport(view, node);
  return {
    taken: services.flatMap(({ endpoints }) => endpoints.map(({ address }) => address)),
    excluded: excluded.map(({ address, reason }) => `${address} ${reason}`),
  };
}

const ENDPOINTS = ["10.1.0.1", "10.2.0.1", "8.8.8.8"];

test("a slice speaks for a cluster only within the cluster's published ranges", () => {
  assert.deepEqual(planned(sliceFact({ cluster: "c2", endpoints: ENDPOINTS })), {
    taken: ["10.2.0.1"],
    excluded: ["10.1.0.1 outside-endpoint-cidrs", "8.8.8.8 outside-endpoint-cidrs"],
  });
});

test("no ranges of the cluster, or no cluster, means no check", () => {
  const all = { taken: ENDPOINTS.toSorted(), excluded: [] };
  assert.deepEqual(planned(sliceFact({ cluster: "c3", endpoints: ENDPOINTS })), all);
  assert.deepEqual(planned(sliceFact({ cluster: "c1", endpoints: ENDPOINTS })), all);
  assert.deepEqual(planned(sliceFact({ endpoints: ENDPOINTS })), all);
  assert.deepEqual(planned(sliceFact({ cluster: "c2", endpoints: ENDPOINTS }), nodeFact()), all);
});

test("ranges of one family admit no endpoint of the other", () => {
  const slice = sliceFact({ cluster: "c2", family: "IPv6", endpoints: ["fd00::1"] });
  const fact = importFact({ vips: ["fd00:241::10"] });
  const view = { key: fact.key, fact, slices: [slice], heldBy: new Map() };
  const { excluded } = planImport(view, nodeFact({ endpointRanges: RANGES }));
  assert.deepEqual(
    excluded.map(({ address, reason }) => `${address} ${reason}`),
    ["fd00::1 outside-endpoint-cidrs"],
  );
});
