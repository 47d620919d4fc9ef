import { COUNTERS, GAUGES, HISTOGRAMS, METRIC_PREFIX } from "../../agent/observe/metric-table.ts";
import { REASONS } from "../../api/reasons.ts";
import { ERRORS } from "../../common/errors.ts";
import type { MetricDefinition } from "../../common/metrics.ts";
import { RULES } from "../architecture/table.ts";
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
  { document: "docs/METRICS.md", name: "metrics", text: metricTable() },
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

function wordTable(head: string, words: Readonly<Record<string, string>>): string {
  const rows = Object.entries(words).map(([word, meaning]) => [`\`${word}\``, meaning]);
  return markdownTable([head, "Meaning"], rows);
}

function metricTable(): string {
  const rows = [
    ...Object.values(HISTOGRAMS).map((metric) => metricRow(metric, "histogram")),
    ...Object.values(COUNTERS).map((metric) => metricRow(metric, "counter")),
    ...Object.values(GAUGES).map((metric) => metricRow(metric, "gauge")),
  ];
  return markdownTable(["Metric", "Type", "Labels", "Meaning"], rows);
}

function metricRow({ name, labelNames, help }: MetricDefinition, type: string): string[] {
  return [`\`${METRIC_PREFIX}${name}\``, type, codeList(labelNames), help];
}
