import assert from "node:assert/strict";
import { test } from "node:test";
import { failing, findingLine, unknown } from "../../agent/preflight/finding.ts";
import { checksText } from "../../common/checks.ts";
import { checksOf, metricOf } from "./checks.ts";
import { failoverCount, failoverProblems } from "./failover-problems.ts";
import { regionProblems, regionsOf } from "./region-problems.ts";

test("the checks of a page are those that agents write", () => {
  const findings = [
    failing({ check: "route", family: "IPv4" }, "no-route", "Add a route: any."),
    unknown({ check: "pods", family: "IPv6" }, "No pod yet."),
  ];
  const checks = [{ name: "sources", reason: "not-listed" } as const, { name: "first-sync-IPv4" }];
  const remarks = ["[-]source-nodes forbidden: HTTP 403", ...findings.map(findingLine)];
  assert.deepEqual(checksOf(checksText("readyz", checks, remarks)), [
    { name: "sources", state: "failing", reason: "not-listed" },
    { name: "first-sync-IPv4", state: "ok" },
    { name: "source-nodes", state: "failing", reason: "forbidden", detail: "HTTP 403" },
    {
      name: "preflight-route-IPv4",
      state: "failing",
      reason: "no-route",
      detail: "Add a route: any.",
    },
    { name: "preflight-pods-IPv6", state: "unknown", reason: "not-tested", detail: "No pod yet." },
  ]);
});

test("a reason of another release is part of the detail", () => {
  assert.deepEqual(checksOf("[-]preflight-x brand-new: do this\n"), [
    { name: "preflight-x", state: "failing", detail: "brand-new: do this" },
  ]);
});

test("values of a metric, and not those of one whose name begins so", () => {
  const page = 'a_total{x="1"} 2\na_total{x="2"} 3.5\na_total_more{x="1"} 9\nb 1\n';
  assert.deepEqual(
    [...metricOf(page, "a_total")],
    [
      ['x="1"', 2],
      ['x="2"', 3.5],
    ],
  );
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
