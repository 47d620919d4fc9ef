/** One query of a panel. */
export interface PanelQuery {
  /** PromQL; `$of` stands for the matchers of the dashboard's variables, as in `up{$of}`. */
  readonly expr: string;
  /** Legend, such as `{{tier}}`. */
  readonly legend: string;
  /** The failure without which the series does not exist; absent if it always does. The lab's test makes the failure. */
  readonly onlyAfter?: string;
}

/** A panel: a graph over time, or the present value as a number. */
export interface PanelSpec {
  readonly title: string;
  readonly kind: "graph" | "number";
  /** A unit of Grafana, such as `s`, `ops`, `short`. */
  readonly unit: string;
  /** What the panel shows, and which value is good. */
  readonly about: string;
  readonly queries: readonly PanelQuery[];
  /** The value from which it is bad; absent if there is none. */
  readonly badFrom?: number;
  /** The value below which it is bad; absent if there is none. */
  readonly badBelow?: number;
}

/** A titled row of panels. */
export interface RowSpec {
  readonly title: string;
  readonly panels: readonly PanelSpec[];
}

/** A dashboard with the variables datasource, cluster and instance. */
export interface DashboardSpec {
  /** Part of its uid and file name. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** A metric that its targets have: the variables list the clusters and instances of it. */
  readonly targets: string;
  readonly rows: readonly RowSpec[];
}
