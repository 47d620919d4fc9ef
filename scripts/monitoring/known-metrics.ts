import * as AGENT from "../../agent/observe/metric-table.ts";
import * as CONTROLLER from "../../controller/observe/metric-table.ts";
import { CLUSTER } from "./alert.ts";
import { queryParts } from "./promql.ts";

/** Labels that the scrape gives every series. */
const TARGET_LABELS = ["job", "instance", CLUSTER];

/** Series that Prometheus makes, and those of prom-client that dashboards use, with their labels. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  up: [],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  nodejs_eventloop_lag_p99_seconds: [],
};

/** All series that our programs serve, and the labels of each. */
const SERIES: ReadonlyMap<string, readonly string[]> = new Map([
  ...Object.entries(OTHERS),
  ...[AGENT, CONTROLLER].flatMap(({ METRIC_PREFIX, HISTOGRAMS, COUNTERS, GAUGES }) => [
    ...[...Object.values(COUNTERS), ...Object.values(GAUGES)].map(
      ({ name, labelNames }) => [`${METRIC_PREFIX}${name}`, labelNames] as const,
    ),
    ...Object.values(HISTOGRAMS).flatMap(({ name, labelNames }) => [
      [`${METRIC_PREFIX}${name}_bucket`, [...labelNames, "le"]] as const,
      [`${METRIC_PREFIX}${name}_sum`, labelNames] as const,
      [`${METRIC_PREFIX}${name}_count`, labelNames] as const,
    ]),
  ]),
]);

/** The metrics of a query that nothing serves, and its labels that none of its metrics has; empty for a valid query. Throws as `queryParts`. */
export function unknownParts(query: string): string[] {
  const { selectors, grouping } = queryParts(query);
  const known = new Set(TARGET_LABELS);
  const unknown: string[] = [];
  for (const { metric, labels } of selectors) {
    const own = SERIES.get(metric);
    if (own === undefined) unknown.push(metric);
    for (const label of own ?? []) known.add(label);
    const has = new Set([...(own ?? []), ...TARGET_LABELS]);
    unknown.push(...labels.filter((label) => !has.has(label)).map((l) => `${metric}{${l}}`));
  }
  return [...unknown, ...grouping.filter((label) => !known.has(label))];
}
