import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAgentPage } from "./agent-status.ts";
import { failoverCount, failoverProblems, regionProblems, regionsOf } from "./problems.ts";

const AGENT = { version: "9.9.9", backend: "nftables", oldestChangeSeconds: 0 };

test("a check of another release is shown with its reason in the detail; what is no check is left out", () => {
  const checks = [
    { name: "sources", state: "ok", since: 7 },
    { name: "preflight-x", state: "failing", reason: "brand-new", detail: "do this" },
    { name: "health", state: "failing", reason: "blind" },
    { name: "y", state: "perhaps" },
    null,
  ];
  const page = parseAgentPage(JSON.stringify({ ...AGENT, checks, more: {} }));
  assert.deepEqual(page, {
    ...AGENT,
    checks: [
      { name: "sources", state: "ok" },
      { name: "preflight-x", state: "failing", detail: "brand-new: do this" },
      { name: "health", state: "failing", reason: "blind" },
    ],
  });
});

test("another page, or a document of another program, is no status", () => {
  for (const text of ["Not found.\n", "{}", "[1]", JSON.stringify(AGENT), "null"])
    assert.equal(parseAgentPage(text), undefined, text);
});

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
  const objects = shop.map(({ object }) => object);
  assert.deepEqual(objects, ["Service shop/web", "Services"]);
});

test("a page where no Service requests it, or of an earlier release, counts nothing", () => {
  assert.equal(failoverCount({ clusters: [] }), undefined);
  assert.deepEqual(failoverProblems({ clusters: [] }, undefined), []);
  const { failover } = PAGE;
  assert.equal(failoverCount({ failover }), undefined);
  assert.equal(failoverProblems({ failover }, undefined).length, 2);
});

test("Nodes with a region, and a cluster that publishes none or another one", () => {
  const FIX = "set ClusterProperty region.topology.k8s.io to";
  const problem = (reason: string, detail: string) => [
    { object: "Cluster c1", severity: "warning", reason, detail },
  ];
  assert.deepEqual(
    regionProblems("c1", undefined, ["eu-west"]),
    problem(
      "region-missing",
      `Nodes are in eu-west, the cluster publishes no region: ${FIX} eu-west, or join again with --region`,
    ),
  );
  assert.deepEqual(
    regionProblems("c1", "eu", ["eu-west", "us-east"]),
    problem(
      "region-differs",
      `Nodes are in eu-west, us-east, the cluster publishes eu: ${FIX} REGION, or join again with --region`,
    ),
  );
});

test("no problem: without regions, and if the published one is that of some Nodes", () => {
  assert.deepEqual(regionProblems("c1", undefined, []), []);
  assert.deepEqual(regionProblems("c1", "eu", []), []);
  assert.deepEqual(regionProblems("c1", "eu", ["eu"]), []);
  assert.deepEqual(regionProblems("c1", "us", ["eu", "us"]), []);
});

test("regions of nodes are those of labels, not of flags", () => {
  const node = (region: string | undefined, byFlag: readonly [string, string][] = []) => ({
    cluster: "c1",
    clusterRegions: new Map(byFlag),
    ...(region !== undefined && { region }),
  });
  assert.deepEqual(regionsOf([node("us"), node("eu"), node("us"), node(undefined)]), ["eu", "us"]);
  assert.deepEqual(regionsOf([node("eu", [["c1", "eu"]])]), []);
  assert.deepEqual(regionsOf([node("eu", [["c2", "eu"]])]), ["eu"]);
});
