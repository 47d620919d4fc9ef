import assert from "node:assert/strict";
import { test } from "node:test";
import { forMany } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import { weightsOf } from "./weights.ts";

test("weights are integers in the ratio of the shares: exact, or rounded to the nearest where one would be beyond 65,535", () =>
  forMany(1000, [anyShared], ({ service, shareOf }) => {
    const weights = weightsOf(service);
    const most = Math.max(...weights.values());
    const perShare = most / Math.max(...service.endpoints.map(shareOf));
    const tolerance = most === 65_535 ? 0.5 : 0;
    for (const [endpoint, weight] of weights) {
      assert.ok(Number.isInteger(weight) && weight >= 1 && weight <= 65_535, `${weight}`);
      const exact = Math.max(1, shareOf(endpoint) * perShare);
      assert.ok(Math.abs(weight - exact) <= tolerance + exact * 1e-12, `${weight} ${exact}`);
    }
    assert.equal(weights.size, service.endpoints.length);
  }));

test("small integers stay small", () => {
  const endpoint = (address: string, cluster: string) => ({
    ...{ address, cluster, port: 80 },
  });
  const endpoints = [
    endpoint("10.1.0.1", "c1"),
    endpoint("10.2.0.1", "c2"),
    endpoint("10.2.0.2", "c2"),
  ];
  const shares = [
    { cluster: "c1", weight: 9 },
    { cluster: "c2", weight: 1 },
  ];
  const weights = weightsOf(virtualService({ endpoints, shares }));
  assert.deepEqual([...weights.values()], [18, 1, 1]);
  const equal = weightsOf(virtualService({ endpoints }));
  assert.deepEqual([...equal.values()], [1, 1, 1]);
});
