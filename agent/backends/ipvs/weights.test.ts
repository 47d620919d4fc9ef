import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import { weightsOf } from "./weights.ts";

test("weights are integers in the ratio of the shares: exact, or rounded where one would be beyond 65,535", () => {
  fc.assert(
    fc.property(anyShared, ({ service, shareOf }) => {
      const weights = weightsOf(service);
      const sum = weights.values().reduce((total, weight) => total + weight, 0);
      const most = Math.max(...weights.values());
      const error = most === 65_535 ? 1 / 500 : 1e-12;
      for (const [endpoint, weight] of weights) {
        assert.ok(Number.isInteger(weight) && weight >= 1 && weight <= 65_535, `${weight}`);
        const share = shareOf(endpoint);
        assert.ok(Math.abs(weight / sum - share) <= error * share, `${weight}/${sum} ${share}`);
      }
      assert.equal(weights.size, service.endpoints.length);
    }),
  );
});

test("small integers stay small", () => {
  const endpoint = (address: string, cluster: string) => ({
    ...{ address, cluster, port: 80, maybeHere: false },
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
