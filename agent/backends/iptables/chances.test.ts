import assert from "node:assert/strict";
import { test } from "node:test";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { anyShared } from "../../../test/generators/shared-services.ts";
import { chancesOf } from "./chances.ts";

test("a connection reaches each endpoint with its cluster's share, divided by the endpoints of the cluster", () =>
  forAll([anyShared], ({ service, shareOf }) => {
    let left = 1;
    const chances = chancesOf(service);
    assert.equal(chances.at(-1), 1);
    for (const [i, endpoint] of service.endpoints.entries()) {
      const chance = left * (chances[i] ?? 0);
      left -= chance;
      assert.ok(Math.abs(chance - shareOf(endpoint)) < 1e-9, `${chance} ${shareOf(endpoint)}`);
    }
  }));

test("without shares, all endpoints are equal", () => {
  const [one] = virtualService().endpoints;
  assert.ok(one);
  const chances = chancesOf(virtualService({ endpoints: [one, one, one, one] }));
  assert.deepEqual(chances, [1 / 4, 1 / 3, 1 / 2, 1]);
});
