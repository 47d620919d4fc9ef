import assert from "node:assert/strict";
import { test } from "node:test";
import { failoverCount, failoverProblems } from "./failover-problems.ts";

const PAGE = {
  failoverServices: { requested: 103, prepared: 100 },
  failover: [
    { service: "shop/web", because: "no-remote-endpoint", clusters: [] },
    { service: "bank/api", because: "slice-refused", clusters: ["c2"] },
    { service: "shop/cart", because: "unready-published", clusters: ["c2"] },
    { service: "shop/api", because: "failover-prepared", clusters: ["c2"] },
  ],
};

test("Services that requested it and did not get it, or in part, and how many more the page does not list", () => {
  assert.deepEqual(failoverCount(PAGE), { requested: 103, prepared: 100 });
  const all = failoverProblems(PAGE, undefined);
  assert.deepEqual(
    all.map(({ object, reason, detail = "" }) => [object, reason, detail.split(":")[0]]),
    [
      ["Service shop/web", "no-remote-endpoint", "ClusterIP failover is not prepared"],
      ["Service bank/api", "slice-refused", "ClusterIP failover is prepared in part"],
      ["Services", "", "ClusterIP failover of 2 more Services, of any namespace, is not prepared"],
    ],
  );
  const shop = failoverProblems(PAGE, "shop");
  assert.deepEqual(
    shop.map(({ object }) => object),
    ["Service shop/web", "Services"],
  );
});

test("a page where no Service requests it, or of an earlier release, counts nothing", () => {
  assert.equal(failoverCount({ clusters: [] }), undefined);
  assert.deepEqual(failoverProblems({ clusters: [] }, undefined), []);
  const { failover } = PAGE;
  assert.equal(failoverCount({ failover }), undefined);
  assert.equal(failoverProblems({ failover }, undefined).length, 2);
});
