import assert from "node:assert/strict";
import { test } from "node:test";
import { contains } from "../api/cidr.ts";
import { cidr } from "../test/generators/facts.ts";
import { service, services, without } from "./services.ts";

const SIZE = { services: 3_000, endpoints: 10 };

test("No two services share a VIP or an endpoint, and all VIPs are ClusterSetIPs", () => {
  const all = services(SIZE);
  assert.equal(new Set(all.map(({ vip }) => vip)).size, SIZE.services);
  const endpoints = all.flatMap(({ slice }) => [...slice.endpoints].map(({ address }) => address));
  assert.equal(new Set(endpoints).size, SIZE.services * SIZE.endpoints);
  const range = cidr("241.0.0.0/8");
  for (const { fact } of all) for (const vip of fact.vips) assert.ok(contains(range, vip));
});

test("Without one endpoint, a slice has the others ready", () => {
  const { slice } = service(1, SIZE);
  const conditions = [...without(slice, 13).endpoints].map(({ condition }) => condition);
  assert.equal(conditions.indexOf("not-ready"), 3);
  assert.equal(conditions.filter((condition) => condition === "ready").length, 9);
});
