import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { DASHBOARDS } from "../../scripts/monitoring/dashboards/all.ts";
import { dashboardOf, expression } from "../../scripts/monitoring/dashboards/dashboard.ts";
import { unknownParts } from "../../scripts/monitoring/known-metrics.ts";

// What dashboards select is served. That their queries return data, test/monitoring shows with the real Prometheus.

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = "deploy/monitoring";

const panels = DASHBOARDS.flatMap(({ name, rows }) =>
  rows.flatMap(({ panels }) => panels.map((panel) => ({ dashboard: name, ...panel }))),
);

test("every metric and label in a panel's query is one that is served", () => {
  assert.ok(panels.length > 40);
  for (const { dashboard, title, queries } of panels) {
    assert.ok(queries.length > 0);
    for (const query of queries) {
      const text = expression(query).replaceAll("$__rate_interval", "5m");
      assert.deepEqual(unknownParts(text), [], `${dashboard}: ${title}`);
    }
  }
});

test("every query depends on the variable cluster, except sums over all of them", () => {
  for (const { dashboard, title, queries } of panels) {
    for (const query of queries) {
      assert.match(expression(query), /cluster=~"\$cluster"/, `${dashboard}: ${title}`);
    }
  }
});

test("every label in a legend is one that the query keeps", () => {
  for (const { dashboard, title, queries } of panels) {
    for (const { legend, expr } of queries) {
      const [, kept] = /^\w[^(]*by \(([^)]*)\)/.exec(expr) ?? [];
      if (kept === undefined) continue;
      for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g)) {
        assert.ok(kept.split(", ").includes(label), `${dashboard}: ${title}: ${label}`);
      }
    }
  }
});

test("each dashboard has the variables datasource, cluster and instance, and panels that do not overlap", () => {
  for (const spec of DASHBOARDS) {
    const { templating, panels = [], uid } = dashboardOf(spec);
    const names = templating.list?.map(({ name }) => name);
    assert.deepEqual(names, ["datasource", "cluster", "instance"]);
    assert.equal(uid, `clusterset-proxy-${spec.name}`);
    const cells = panels.flatMap(({ gridPos }) => {
      const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {};
      assert.ok(x + w <= 24, spec.name);
      return Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`);
    });
    assert.equal(new Set(cells).size, cells.length, spec.name);
  }
});

test("the ConfigMap for Grafana has every dashboard", () => {
  const { configMapGenerator } = parse(
    readFileSync(join(ROOT, FOLDER, "kustomization.yaml"), "utf8"),
  );
  const files = globSync("dashboards/*.json", { cwd: join(ROOT, FOLDER) });
  assert.deepEqual(configMapGenerator[0].files.toSorted(), files.toSorted());
  assert.equal(files.length, DASHBOARDS.length);
});
