import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { anchorsOf } from "../../scripts/documents/anchors.ts";
import { FILES } from "../../scripts/documents/files.ts";
import { DASHBOARDS } from "../../scripts/monitoring/dashboards/all.ts";
import { dashboardOf, expression } from "../../scripts/monitoring/dashboards/dashboard.ts";
import { unknownParts } from "../../scripts/monitoring/known-metrics.ts";
import { queryParts } from "../../scripts/monitoring/promql.ts";
import { ALERTS, prometheusRule, rulesFile } from "../../scripts/monitoring/rules.ts";
import { RUNBOOKS } from "../../scripts/monitoring/runbook.ts";

// What alerts say of metrics and guides is so. That they fire, test/monitoring shows with the real promtool.

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const alerts = Object.values(ALERTS).flat();

test("generated files match the code (node scripts/documents.ts --write)", () => {
  for (const { path, text } of FILES) assert.equal(read(path), text, `${path} is behind the code`);
});

test("every metric and label in an alert's expression is one that is served", () => {
  for (const { alert, expr } of alerts) assert.deepEqual(unknownParts(expr), [], alert);
});

test("a query with an unknown metric, label or grouping is found out", () => {
  const good = 'sum by (cluster, tier) (clusterset_agent_service_ports{tier="none", job="x"})';
  assert.deepEqual(unknownParts(good), []);
  assert.deepEqual(unknownParts("clusterset_agent_nothing"), ["clusterset_agent_nothing"]);
  const unknown = unknownParts('clusterset_agent_ready{tier="x"}');
  assert.deepEqual(unknown, ["clusterset_agent_ready{tier}"]);
  assert.deepEqual(unknownParts("max by (tier) (clusterset_agent_ready)"), ["tier"]);
  assert.deepEqual(queryParts("a offset 5m unless on (x) rate(b_total[5m])").grouping, ["x"]);
  assert.throws(() => queryParts("sum by (a (b)"), /not PromQL/);
  assert.throws(() => queryParts('{job="x"}'), /without a metric/);
});

test("every alert has a summary, a description that ends a sentence, and a runbook that exists", () => {
  assert.ok(alerts.length > 15);
  for (const { alert, summary, description, runbook } of alerts) {
    assert.match(alert, /^Clusterset[A-Z][A-Za-z]+$/);
    assert.match(summary, /^[A-Z].*\.$/, alert);
    assert.match(description, /\.$/, alert);
    const [path = "", anchor = ""] = runbook.split("#");
    assert.ok(anchorsOf(read(path)).includes(anchor), `${alert}: ${runbook}`);
  }
  assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length);
});

test("the PrometheusRule has the groups of the rules file", () => {
  const { groups } = parse(rulesFile());
  const object = parse(prometheusRule());
  assert.deepEqual(object.spec.groups, groups);
  assert.equal(object.kind, "PrometheusRule");
  const [first] = groups[0].rules;
  assert.ok(first.annotations.runbook_url.startsWith(RUNBOOKS));
});

test("METRICS.md and the guide name alerts that exist", () => {
  const names = new Set(alerts.map(({ alert }) => alert));
  for (const document of ["docs/METRICS.md", "docs/guides/monitoring.md"]) {
    for (const [name] of read(document).matchAll(/\bClusterset[A-Z][a-z]+[A-Z]\w+/g)) {
      assert.ok(names.has(name), `${document}: ${name}`);
    }
  }
});

// What dashboards select is served. That their queries return data, test/monitoring shows with the real Prometheus.

const FOLDER = "deploy/monitoring";

const queries = DASHBOARDS.flatMap(({ name, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) => {
      assert.ok(queries.length > 0, title);
      return queries.map((query) => ({ at: `${name}: ${title}`, ...query }));
    }),
  ),
);

test("every metric and label in a panel's query is one that is served, and every query depends on the variable cluster", () => {
  assert.ok(queries.length > 40);
  for (const { at, ...query } of queries) {
    const text = expression(query);
    assert.deepEqual(unknownParts(text.replaceAll("$__rate_interval", "5m")), [], at);
    assert.match(text, /cluster=~"\$cluster"/, at);
  }
});

test("every label in a legend is one that the query keeps", () => {
  for (const { at, legend, expr } of queries) {
    const [, kept] = /^\w[^(]*by \(([^)]*)\)/.exec(expr) ?? [];
    if (kept === undefined) continue;
    for (const [, label = ""] of legend.matchAll(/\{\{(\w+)\}\}/g)) {
      assert.ok(kept.split(", ").includes(label), `${at}: ${label}`);
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
  const { configMapGenerator } = parse(read(`${FOLDER}/kustomization.yaml`));
  const files = globSync("dashboards/*.json", { cwd: join(ROOT, FOLDER) });
  assert.deepEqual(configMapGenerator[0].files.toSorted(), files.toSorted());
  assert.equal(files.length, DASHBOARDS.length);
});
