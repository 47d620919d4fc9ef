import assert from "node:assert/strict";
import { test } from "node:test";
import { specOf } from "./keeping.ts";
import { plansOf } from "./spec.ts";

test("Invalid numbers, regions and modes are rejected, and the message names them", () => {
  assert.throws(() => plansOf({ clusters: 0 }), /clusters: 0/);
  assert.throws(() => plansOf({ nodes: 1.5 }), /nodes: 1\.5/);
  assert.throws(() => plansOf({ regions: ["eu_west"] }), /region "eu_west"/);
  assert.throws(() => plansOf({ names: ["Old"] }), /name "Old"/);
  assert.throws(() => plansOf(specOf({ CLUSTERS: "many" })), /clusters: NaN/);
  assert.throws(() => specOf({ PROXY: "ipvs" }), /PROXY=ipvs.*iptables or nftables/);
});

test("Lists in environment variables are separated by blanks or commas", () => {
  assert.deepEqual(
    specOf({ CLUSTERS: "2", NODES: "3", REGIONS: "a, b", PROXY: "nftables iptables" }),
    {
      clusters: 2,
      nodes: 3,
      regions: ["a", "b"],
      proxies: ["nftables", "iptables"],
    },
  );
  assert.deepEqual(specOf({}).regions, ["eu-west", "eu-west", "us-east"]);
});
