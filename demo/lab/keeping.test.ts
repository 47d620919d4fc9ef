import assert from "node:assert/strict";
import { test } from "node:test";
import { plansOf } from "../../test/cluster/spec.ts";
import { specOf } from "./keeping.ts";

test("Environment variables with an invalid number or mode are rejected, and the message names them", () => {
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
