import assert from "node:assert/strict";
import { test } from "node:test";
import { failing, findingLine, unknown } from "../../agent/preflight/finding.ts";
import { checksText } from "../../common/checks.ts";
import { checksOf, metricOf } from "./checks.ts";

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
