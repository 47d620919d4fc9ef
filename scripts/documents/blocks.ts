import * as AGENT from "../../agent/observe/metric-table.ts";
import { REASONS } from "../../api/reasons.ts";
import { CLUSTER_CHECKS } from "../../cli/check/cluster-checks.ts";
import { PAIR_CHECKS } from "../../cli/check/pair-checks.ts";
import { ERRORS } from "../../common/errors.ts";
import type { MetricDefinition } from "../../common/metrics.ts";
import * as CONTROLLER from "../../controller/observe/metric-table.ts";
import { RULES } from "../architecture/table.ts";
import { ALERTS } from "../monitoring/rules.ts";
import { codeList, markdownTable } from "./markers.ts";

/** A part of a document that is made from the code. */
export interface Block {
  /** Path of the document, from the root of the tree. */
  readonly document: string;
  /** Name of its markers. */
  readonly name: string;
  readonly text: string;
}

/** Every part of a document that is made from the code. */
export const BLOCKS: readonly Block[] = [
  { document: "docs/ARCHITECTURE.md", name: "import-table", text: importTable() },
  { document: "docs/ERRORS.md", name: "errors", text: wordTable("Code", ERRORS) },
  { document: "docs/METRICS.md", name: "metrics", text: metricTable(AGENT) },
  { document: "docs/METRICS.md", name: "controller-metrics", text: metricTable(CONTROLLER) },
  { document: "docs/guides/monitoring.md", name: "alerts", text: alertTable() },
  { document: "docs/guides/kubectl-plugin.md", name: "checks", text: checkTable() },
  { document: "docs/REASONS.md", name: "reasons", text: wordTable("Reason", REASONS) },
];

function importTable(): string {
  const rows = RULES.map(({ files, may, pure, why }) => [
    codeList(files),
    codeList(may),
    pure ? "yes" : "",
    why,
  ]);
  return markdownTable(["Files", "May import", "Pure", "Why"], rows);
}

function checkTable(): string {
  const rows = Object.entries({ ...CLUSTER_CHECKS, ...PAIR_CHECKS }).map(([check, one]) => [
    `\`${check}\``,
    one.question,
    one.advice,
  ]);
  return markdownTable(["Check", "Question", "What to do, unless the row says so"], rows);
}

function alertTable(): string {
  const rows = Object.values(ALERTS)
    .flat()
    .map(({ alert, severity, for: time = "", summary }) => [
      `\`${alert}\``,
      severity,
      time,
      summary,
    ]);
  return markdownTable(["Alert", "Severity", "After", "Meaning"], rows);
}

function wordTable(head: string, words: Readonly<Record<string, string>>): string {
  const rows = Object.entries(words).map(([word, meaning]) => [`\`${word}\``, meaning]);
  return markdownTable([head, "Meaning"], rows);
}

/** What one of our programs counts. */
interface MetricTables {
  readonly METRIC_PREFIX: string;
  readonly HISTOGRAMS: Readonly<Record<string, MetricDefinition>>;
  readonly COUNTERS: Readonly<Record<string, MetricDefinition>>;
  readonly GAUGES: Readonly<Record<string, MetricDefinition>>;
}

function metricTable({ METRIC_PREFIX, HISTOGRAMS, COUNTERS, GAUGES }: MetricTables): string {
  const rows = [
    ...Object.values(HISTOGRAMS).map((metric) => metricRow(METRIC_PREFIX, metric, "histogram")),
    ...Object.values(COUNTERS).map((metric) => metricRow(METRIC_PREFIX, metric, "counter")),
    ...Object.values(GAUGES).map((metric) => metricRow(METRIC_PREFIX, metric, "gauge")),
  ];
  return markdownTable(["Metric", "Type", "Labels", "Meaning"], rows);
}

function metricRow(
  prefix: string,
  { name, labelNames, help }: MetricDefinition,
  type: string,
): string[] {
  return [`\`${prefix}${name}\``, type, codeList(labelNames), help];
}
