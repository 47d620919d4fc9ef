import { BigValueColorMode, GraphGradientMode } from "@grafana/grafana-foundation-sdk/common";
import {
  type Dashboard,
  DashboardBuilder,
  DashboardLinkBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as NumberPanel } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as GraphPanel } from "@grafana/grafana-foundation-sdk/timeseries";
import type { DashboardSpec, PanelQuery, PanelSpec } from "./panel.ts";

const TAG = "clusterset-proxy";
const DATASOURCE = { type: "prometheus", uid: "$datasource" };
/** The matchers of the variables: a target without a label `cluster` matches, too. */
const OF = 'cluster=~"$cluster", instance=~"$instance"';
/** Grafana's grid is 24 wide. */
const GRAPH = { w: 12, h: 8 };
const NUMBER = { w: 4, h: 4 };
const GOOD = "green";
const BAD = "red";

/** A query as Grafana sends it, apart from its variables. PURE. */
export function expression({ expr }: Pick<PanelQuery, "expr">): string {
  return expr.replaceAll("$of", OF);
}

/** A dashboard in the format of Grafana. PURE. */
export function dashboardOf(spec: DashboardSpec): Dashboard {
  const { name, title, about, rows, targets } = spec;
  const builder = new DashboardBuilder(`Clusterset / ${title}`)
    .uid(`clusterset-proxy-${name}`)
    .description(about)
    .tags([TAG])
    .refresh("30s")
    .time({ from: "now-1h", to: "now" })
    .link(new DashboardLinkBuilder("Clusterset").tags([TAG]).keepTime(true).includeVars(true))
    .withVariable(new DatasourceVariableBuilder("datasource").type("prometheus"))
    .withVariable(labelValues("cluster", targets))
    .withVariable(labelValues("instance", `${targets}{cluster=~"$cluster"}`));
  for (const row of rows) {
    builder.withRow(new RowBuilder(row.title));
    for (const panel of row.panels) builder.withPanel(panelOf(panel));
  }
  return builder.build();
}

/** All values of a label, with "All" for whatever there is. */
function labelValues(label: string, of: string): QueryVariableBuilder {
  return new QueryVariableBuilder(label)
    .datasource(DATASOURCE)
    .query(`label_values(${of}, ${label})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue(".*")
    .current({ text: "All", value: "$__all" });
}

function panelOf(spec: PanelSpec): GraphPanel | NumberPanel {
  const { title, kind, unit, about, queries } = spec;
  const size = kind === "graph" ? GRAPH : NUMBER;
  const panel =
    kind === "graph"
      ? new GraphPanel().fillOpacity(10).gradientMode(GraphGradientMode.Opacity).min(0)
      : new NumberPanel().colorMode(BigValueColorMode.Value);
  panel.title(title).description(about).unit(unit).datasource(DATASOURCE).thresholds(limits(spec));
  panel.span(size.w).height(size.h);
  for (const [index, query] of queries.entries()) {
    const target = new DataqueryBuilder()
      .refId(String.fromCodePoint(65 + index))
      .expr(expression(query))
      .legendFormat(query.legend);
    panel.withTarget(kind === "graph" ? target.range() : target.instant());
  }
  return panel;
}

function limits({ badFrom, badBelow }: PanelSpec): ThresholdsConfigBuilder {
  const first = { value: null, color: badBelow === undefined ? GOOD : BAD };
  const next = badFrom ?? badBelow;
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps(
      next === undefined
        ? [first]
        : [first, { value: next, color: badFrom === undefined ? GOOD : BAD }],
    );
}
