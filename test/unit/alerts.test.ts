import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { anchorsOf } from "../../scripts/documents/anchors.ts";
import { FILES } from "../../scripts/documents/files.ts";
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
  assert.deepEqual(unknownParts('clusterset_agent_ready{tier="x"}'), [
    "clusterset_agent_ready{tier}",
  ]);
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
